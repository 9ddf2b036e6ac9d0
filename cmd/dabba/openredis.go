package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis"
)

// onRedis says that the messages are kept in a Redis server.
func (o *serveOptions) onRedis() bool {
	return strings.HasPrefix(o.store, "redis://") || strings.HasPrefix(o.store, "rediss://")
}

// redisOptions splits what --store says. Its parameter prefix is ours: it begins the keys of all that is kept.
func redisOptions(address string) (redis.Options, error) {
	// No error of these repeats the address, which may hold a password.
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return redis.Options{}, usagef("--store is segment, memory, or the address of a Redis server like redis://:password@redis.example:6379/0; " +
			"write / and : in a password as %%2F and %%3A")
	}
	query := u.Query()
	prefix := query.Get("prefix")
	if strings.ContainsAny(prefix, "{}*?[]\\") {
		return redis.Options{}, usagef("the prefix in --store has letters, digits and signs like : and -, not %q", prefix)
	}
	query.Del("prefix")
	u.RawQuery = query.Encode()
	return redis.Options{URL: u.String(), Prefix: prefix}, nil
}

// openRedis lets the Redis server say what time it is, unless the clock is one that tests move.
func openRedis(ctx context.Context, serving serveOptions, now func() time.Time, log *slog.Logger) (store.Store, error) {
	o, err := redisOptions(serving.store)
	if err != nil {
		return nil, err
	}
	if serving.dev {
		o.Now = now
	}
	o.Warning = func(s string) { log.Warn(s) } //nolint:sloglint // a sentence for people
	s, err := redis.Open(ctx, o)
	if errors.Is(err, store.ErrUnavailable) {
		return nil, fmt.Errorf("%w (is there a Redis server, and does --store name it?)", err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// nodeName is that of this process among those that share a store: empty if it is alone on it. It is new with each start,
// so that two processes of one machine, or two containers that were started from one image, never have the same.
func nodeName(o serveOptions, random func() string) string {
	if !o.onRedis() {
		return ""
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "node"
	}
	name := host + "-" + random()
	return name
}
