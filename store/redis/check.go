package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// check says whether the server can be relied on, warns of what it promises less than it could, and enters or compares
// the version of the format.
func (s *Store) check(ctx context.Context) error {
	var facts map[string]string
	var fsync string
	err := s.do(ctx, func(c redis.Cmdable) error {
		text, err := c.Info(ctx).Result()
		facts = parseInfo(text)
		if err != nil {
			return err
		}
		// Managed servers may refuse this: then the promise says less.
		if got, err := c.ConfigGet(ctx, "appendfsync").Result(); err == nil {
			fsync = got["appendfsync"]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if major, _, _ := strings.Cut(facts["redis_version"], "."); !atLeast(major, 7) {
		return fmt.Errorf("Redis %s, but 7.0 or later is needed: %w", facts["redis_version"], store.ErrVersion)
	}
	if policy := facts["maxmemory_policy"]; policy != "noeviction" {
		return fmt.Errorf("the server's maxmemory-policy is %q, so it may throw messages away at any time; set it to noeviction", policy)
	}
	s.info = store.Info{Name: "redis", Promise: promise(facts["aof_enabled"] == "1", fsync), Durable: true}
	if facts["aof_enabled"] != "1" {
		s.o.Warning("The Redis server has no append-only file: when it stops, it loses all that came after its last snapshot. Set appendonly yes.")
	} else if fsync == "no" {
		s.o.Warning("The Redis server leaves syncing to its operating system (appendfsync no): a power cut may take the last half minute. Set appendfsync everysec or always.")
	}
	return s.format(ctx)
}

func atLeast(number string, want int) bool {
	n, err := strconv.Atoi(number)
	return err == nil && n >= want
}

// parseInfo reads the answer to INFO: lines of name:value.
func parseInfo(text string) map[string]string {
	facts := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			facts[name] = value
		}
	}
	return facts
}

// promise is what an acknowledgement survives with these settings of the server.
func promise(aof bool, fsync string) string {
	switch {
	case !aof:
		return "what is acknowledged is in the memory of the Redis server, and lost if that stops before its next snapshot"
	case fsync == "always":
		return "what is acknowledged is synced to the disk of the Redis server (appendfsync always)"
	case fsync == "everysec":
		return "what is acknowledged is on the disk of the Redis server within about a second (appendfsync everysec)"
	case fsync == "no":
		return "what is acknowledged is on the disk of the Redis server when its operating system writes it (appendfsync no)"
	}
	return "what is acknowledged is written to the append-only file of the Redis server, which does not tell when it is synced"
}

// format enters the version of the keys' format, or compares it.
func (s *Store) format(ctx context.Context) error {
	key := s.o.Prefix + "version"
	have := version
	err := s.do(ctx, func(c redis.Cmdable) error {
		ok, err := c.SetNX(ctx, key, version, 0).Result()
		if err != nil || ok {
			return err
		}
		have, err = c.Get(ctx, key).Result()
		return err
	})
	if err == nil && have != version {
		err = fmt.Errorf("the keys under %q have format %s, this program knows %s; use the program that wrote them: %w",
			s.o.Prefix, have, version, store.ErrVersion)
	}
	return err
}
