package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis"
)

// redisForms are what --store may say of Redis, for messages.
const redisForms = "redis://host:6379/0, redis-sentinel://host:26379,host:26379/name or redis-cluster://host:6379,host:6379"

// isRedis says that an address is one of Redis, in one of its forms.
func isRedis(address string) bool {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		return false
	}
	switch scheme {
	case "redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster":
		return true
	}
	return false
}

// onRedis says that the messages are kept in Redis.
func (o *serveOptions) onRedis() bool { return isRedis(o.store) }

// redisAddress is an address taken apart. It may name several hosts, which no net/url takes.
type redisAddress struct {
	scheme, user, hosts, path string
	query                     url.Values
}

// splitRedis takes an address of Redis apart. Its errors do not repeat it, as it may hold a password.
func splitRedis(address string) (a redisAddress, err error) {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, query, _ := strings.Cut(rest, "?")
	a.scheme = scheme
	if a.query, err = url.ParseQuery(query); err != nil {
		return a, errors.New("what comes after the ? cannot be read")
	}
	authority := rest
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, a.path = rest[:i], rest[i:]
	}
	if strings.Contains(a.path, "@") || strings.Contains(query, "@") || strings.Contains(authority, "#") {
		return a, errors.New("write /, ?, # and : in a password as %2F, %3F, %23 and %3A")
	}
	a.hosts = authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		a.user, a.hosts = authority[:i+1], authority[i+1:]
	}
	if a.hosts == "" {
		return a, errors.New("no host is named")
	}
	return a, nil
}

func (a redisAddress) String() string {
	s := a.scheme + "://" + a.user + a.hosts + a.path
	if len(a.query) > 0 {
		s += "?" + a.query.Encode()
	}
	return s
}

// redactRedis hides what may be secret in an address of Redis, all of it if it cannot be read. The prefix is not: it tells two
// installations on one Redis apart.
func redactRedis(address string) string {
	a, err := splitRedis(address)
	if err != nil {
		return "redacted"
	}
	if name, _, secret := strings.Cut(strings.TrimSuffix(a.user, "@"), ":"); secret {
		a.user = name + ":xxxxx@"
	}
	prefix := a.query.Get("prefix")
	a.query.Del("prefix")
	asked := len(a.query) > 0
	a.query = nil
	s := a.String()
	switch {
	case prefix != "" && asked:
		s += "?prefix=" + prefix + "&redacted"
	case prefix != "":
		s += "?prefix=" + prefix
	case asked:
		s += "?redacted"
	}
	return s
}

// redisOptions splits what --store says. Its parameter prefix is ours: it begins the keys of all that is kept.
func redisOptions(address string) (redis.Options, error) {
	a, err := splitRedis(address)
	if err != nil {
		return redis.Options{}, usagef("--store is segment, memory, or the address of Redis, like %s: %w", redisForms, err)
	}
	prefix := a.query.Get("prefix")
	if strings.ContainsAny(prefix, "{}*?[]\\") {
		return redis.Options{}, usagef("the prefix in --store has letters, digits and signs like : and -, not %q", prefix)
	}
	a.query.Del("prefix")
	o := redis.Options{URL: a.String(), Prefix: prefix}
	if err := redis.CheckURL(o.URL); err != nil {
		return redis.Options{}, usagef("--store: %w", err)
	}
	return o, nil
}

// openRedis opens the store on Redis servers, which share elapsed time with all that serve it.
func openRedis(ctx context.Context, serving serveOptions, c *clock, log *slog.Logger, m *metrics.Metrics) (store.Store, error) {
	o, err := redisOptions(serving.store)
	if err != nil {
		return nil, err
	}
	o.Wall, o.Advances = c.wall, serving.dev
	o.Monotonic = func() time.Duration { return c.now().Sub(c.start) }
	o.Warning = func(s string) { log.Warn(s) } //nolint:sloglint // a sentence for people
	o.Gap = func(g store.Gap) { noteGap(log, m, c.wall(), g) }
	o.ClockSet = func(c redis.ClockSet) {
		m.ClockStepped(c.At, c.By)
		log.Warn("the clock of a Redis was set, or one with another clock has taken over; leases, delays and retention do not follow it",
			slog.String("server", c.Server), slog.Duration("by", c.By))
	}
	tellFailovers(&o, log, m)
	s, err := redis.Open(ctx, o)
	if err != nil {
		return nil, adviseOpen(err)
	}
	return s, nil
}

// adviseOpen adds to why Redis cannot be opened what to look at first.
func adviseOpen(err error) error {
	_, network := errors.AsType[net.Error](err)
	switch {
	case !errors.Is(err, store.ErrUnavailable):
	case strings.Contains(err.Error(), "NOREPLICAS"):
		return fmt.Errorf("%w (start the server again when they follow)", err)
	case strings.Contains(err.Error(), "tls: certificate required"):
		return fmt.Errorf("%w (there are no client certificates here: set tls-auth-clients of Redis to no or optional)", err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w (is it Redis that listens there? If it wants TLS, --store begins with rediss)", err)
	case network:
		return fmt.Errorf("%w (is Redis there, and does --store name it?)", err)
	}
	return err
}

// tellFailovers has failovers and what they lost counted and logged, each in a sentence for whoever is woken by it.
func tellFailovers(o *redis.Options, log *slog.Logger, m *metrics.Metrics) {
	m.CanFailOver()
	o.Failover = func(f redis.Failover) {
		m.FailedOver(f.At)
		said := "Redis failed over or was started again: what was acknowledged just before may be lost, which is being counted. " +
			"The server goes on and nothing has to be repaired; look at why Redis did it"
		if f.Emptied {
			said = "Redis was emptied while it ran (FLUSHALL, or the like), or a part of it: what is lost is being counted. The server goes on; " +
				"queues and topics that are not found have to be made again. Take FLUSHALL and FLUSHDB from everybody with an ACL"
		}
		log.Error(said, //nolint:sloglint // a sentence for people
			slog.String("server", f.Server),
			slog.String("from", f.From),
			slog.String("to", f.To),
			slog.Time("at", f.At),
			slog.Int("tags", f.Tags))
	}
	o.Lost = func(l redis.Loss) {
		m.Lose(metrics.Lost{
			Sends: l.Sends, Receives: l.Receives, Settles: l.Settles, Appends: l.Appends, Catalog: l.Catalog, Others: l.Others,
		}, l.Partial)
		level, said := slog.LevelError, "the failover of Redis has lost acknowledged changes. Nothing has to be repaired: who had an answer "+
			"just before it may send, produce or ack again, and what was acked may be delivered again"
		switch {
		case l.Partial:
			said = "the failover of Redis may have lost more acknowledged changes than could be counted. Nothing has to be repaired: who " +
				"had an answer just before it may send, produce or ack again, and what was acked may be delivered again"
		case l == redis.Loss{Server: l.Server}:
			level, said = slog.LevelInfo, "the failover of Redis has lost nothing that this server had acknowledged"
		}
		log.Log(context.Background(), level, said, //nolint:forbidigo,sloglint // no request's; a sentence for people
			slog.String("server", l.Server),
			slog.Int("send", l.Sends),
			slog.Int("receive", l.Receives),
			slog.Int("settle", l.Settles),
			slog.Int("append", l.Appends),
			slog.Int("catalog", l.Catalog),
			slog.Int("other", l.Others),
			slog.Bool("partial", l.Partial))
	}
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
