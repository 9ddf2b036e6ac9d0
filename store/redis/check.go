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
	err := s.do(ctx, func(c redis.Cmdable) error {
		text, err := c.Info(ctx).Result()
		if err != nil {
			return err
		}
		facts = parseInfo(text)
		// Managed servers may refuse this: then the promise says less.
		if got, err := c.ConfigGet(ctx, "appendfsync").Result(); err == nil {
			facts["appendfsync"] = got["appendfsync"]
		}
		return nil
	})
	if err != nil {
		return err
	}
	promise, warning, err := judge(facts)
	if err != nil {
		return err
	}
	if warning != "" {
		s.o.Warning(warning)
	}
	s.info = store.Info{Name: "redis", Promise: promise, Durable: true}
	return s.format(ctx)
}

// judge says what an acknowledgement survives on a server like that, what its owner should be warned of, or why it cannot be
// used.
func judge(facts map[string]string) (promise, warning string, err error) {
	major, _, _ := strings.Cut(facts["redis_version"], ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return "", "", fmt.Errorf("the server is Redis %s, but 7.0 or later is needed: %w", facts["redis_version"], store.ErrVersion)
	}
	if policy := facts["maxmemory_policy"]; policy != "noeviction" {
		return "", "", fmt.Errorf("the server's maxmemory-policy is %q, so it may throw messages away at any time; set it to noeviction", policy)
	}
	if facts["aof_enabled"] != "1" {
		return "what is acknowledged is in the memory of the Redis server, and lost if that stops before its next snapshot",
			"The Redis server has no append-only file: when it stops, it loses what came after its last snapshot. Set appendonly yes.", nil
	}
	switch facts["appendfsync"] {
	case "always":
		return "what is acknowledged is synced to the disk of the Redis server (appendfsync always)", "", nil
	case "everysec":
		return "what is acknowledged is synced to the disk of the Redis server within two seconds, and lost if that or its power ends before (appendfsync everysec)", "", nil
	case "no":
		return "what is acknowledged is written to the disk of the Redis server when its operating system finds time, and lost if its power ends before (appendfsync no)",
			"The Redis server leaves syncing to its operating system: a power cut may take the last half minute. Set appendfsync everysec or always.", nil
	}
	return "what is acknowledged is in the append-only file of the Redis server, which does not tell when it is synced", "", nil
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
