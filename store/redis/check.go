package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// check says whether the servers can be relied on, and enters or compares the version of the format. Of a cluster it is enough
// that the server with the catalog and the version answers: nodes start also while another one is away.
func (s *Store) check(ctx context.Context) error {
	all, err := s.topology.masters(ctx)
	if err != nil {
		return fault(err, false)
	}
	for _, v := range all {
		v.attend()
		err := v.client.Ping(ctx).Err() // its connection meets the server
		if err == nil {
			continue
		}
		err = s.ofServer(v, fault(err, false))
		if s.endpoint.kind != cluster || !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		s.o.Warning(fmt.Sprintf("%v. What it keeps is refused until it is back.", err))
	}
	if err := s.format(ctx); err != nil {
		return err
	}
	if s.o.Now == nil {
		if err := s.resumeTime(ctx); err != nil {
			return err
		}
	}
	return s.mayAnnounce(ctx)
}

// mayAnnounce finds out on each server whether its ACL lets this user announce what changes, and hear of it. Scripts announce
// after they have changed something, so their calls would have no known outcome.
func (s *Store) mayAnnounce(ctx context.Context) error {
	asked := make(map[*server]bool)
	for tag := range tags {
		channel := s.news(uint64(tag))
		v, err := s.topology.route(ctx, channel)
		if err != nil || asked[v] {
			continue // who is away may come back
		}
		asked[v] = true
		if err := v.mayAnnounce(ctx, channel); redis.HasErrorPrefix(err, "NOPERM") {
			return fault(err, false)
		}
	}
	return nil
}

func (v *server) mayAnnounce(ctx context.Context, channel string) error {
	sub := v.client.SSubscribe(ctx, channel)
	defer sub.Close() //nolint:errcheck // nothing is sent over it
	if _, err := sub.ReceiveTimeout(ctx, patience); err != nil {
		return err
	}
	return v.client.SPublish(ctx, channel, "").Err()
}

// ofServer says of an error which server of a cluster it is of.
func (s *Store) ofServer(v *server, err error) error {
	if s.endpoint.kind != cluster {
		return err // there is no other
	}
	return fmt.Errorf("%s: %w", v.name, err)
}

// Info implements [store.Store]. The promise is that of the server that promises least, as it was last heard.
func (s *Store) Info() store.Info {
	info := store.Info{Name: "redis", Durable: true, Replicated: true, Shards: maxShards}
	var weakest *server
	var short []string
	replicas := int32(math.MaxInt32)
	for _, v := range s.topology.known() {
		p := v.promise.Load()
		if p == nil {
			continue
		}
		if weakest == nil || p.rank < weakest.promise.Load().rank {
			weakest = v
		}
		if p.short {
			short = append(short, fmt.Sprintf("%s refuses changes: fewer replicas keep up than its min-replicas-to-write (%d)", v.name, p.least))
		}
		replicas = min(replicas, v.replicas.Load())
	}
	if weakest == nil {
		return info
	}
	info.Promise = weakest.promise.Load().text
	if replicas > 0 {
		info.Promise += fmt.Sprintf("; replicas that keep up: %d; one that takes over may have missed the last moment, unless a call waited for them with acks=all", replicas)
	}
	for _, s := range short {
		info.Promise += "; " + s
	}
	return info
}

// judge says what an acknowledgement survives on a server like that, what its owner should be warned of, or why it cannot be
// used.
func judge(facts map[string]string, kind kind) (p promise, warnings []string, err error) {
	major, _, _ := strings.Cut(facts["redis_version"], ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return p, nil, fmt.Errorf("the server is Redis %s, but 7.0 or later is needed: %w", facts["redis_version"], store.ErrVersion)
	}
	if policy := facts["maxmemory_policy"]; policy != "noeviction" {
		p.text = fmt.Sprintf("what is acknowledged may be thrown away by the Redis server when its memory is full (maxmemory-policy %s)", policy)
		return p, nil, fmt.Errorf("the server's maxmemory-policy is %q, so it may throw messages away at any time; set it to noeviction", policy)
	}
	replicas, _ := strconv.Atoi(facts["connected_slaves"])
	if kind != single && replicas == 0 {
		warnings = append(warnings, "no replica follows it, so nothing can take its place. Add one.")
	}
	if replicas > 0 && facts["min-replicas-to-write"] == "0" {
		warnings = append(warnings, "it goes on alone when its replicas are cut off, and what it then acknowledges is lost when one of them takes over. "+
			"Set min-replicas-to-write 1 and min-replicas-max-lag 10, or less.")
	}
	p.least, _ = strconv.Atoi(facts["min-replicas-to-write"])
	if good, err := strconv.Atoi(facts["min_slaves_good_slaves"]); err == nil && good < p.least {
		p.short = true
		warnings = append(warnings, fmt.Sprintf("it refuses changes, since fewer replicas keep up than its min-replicas-to-write (%d). Bring them back, or add one.", p.least))
	}
	p.aof = facts["aof_enabled"] == "1"
	switch {
	case !p.aof:
		p.text = "what is acknowledged is in the memory of the Redis server, and lost if that stops before its next snapshot"
		warnings = append(warnings, "it has no append-only file: when it stops, it loses what came after its last snapshot. Set appendonly yes.")
	case facts["appendfsync"] == "always":
		p.rank, p.text = 4, "what is acknowledged is synced to the disk of the Redis server (appendfsync always)"
	case facts["appendfsync"] == "everysec":
		p.rank, p.text = 3, "what is acknowledged is synced to the disk of the Redis server within two seconds, and lost if that or its power ends before (appendfsync everysec)"
	case facts["appendfsync"] == "no":
		p.rank, p.text = 1, "what is acknowledged is written to the disk of the Redis server when its operating system finds time, and lost if its power ends before (appendfsync no)"
		warnings = append(warnings, "it leaves syncing to its operating system: a power cut may take the last half minute. Set appendfsync everysec or always.")
	default:
		p.rank, p.text = 2, "what is acknowledged is in the append-only file of the Redis server, which does not tell when it is synced"
	}
	return p, warnings, nil
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

// versionKey is in the slot of the key-value part, without which nothing starts.
func (s *Store) versionKey() string { return s.o.Prefix + "{kv}version" }

// format enters the version of the keys' format, or compares it.
func (s *Store) format(ctx context.Context) error {
	key := s.versionKey()
	have := ""
	err := s.do(ctx, func(c redis.Cmdable) error {
		var err error
		if have, err = c.Get(ctx, key).Result(); !errors.Is(err, redis.Nil) {
			return err // it is not written where it stands: a full server takes nothing, and has to be emptied
		}
		ok, err := c.SetNX(ctx, key, version, 0).Result()
		if ok || err != nil {
			have = version
			return err
		}
		have, err = c.Get(ctx, key).Result() // of one that was quicker
		return err
	})
	if err == nil && have != version {
		err = fmt.Errorf("the keys under %q have format %s, this program knows %s; use the program that wrote them: %w",
			s.o.Prefix, have, version, store.ErrVersion)
	}
	return err
}
