package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/dabba-mq/dabba/store"
)

// version is that of the keys' format, see the package's comment.
const version = "1"

// Options configure a Store. URL is required.
type Options struct {
	// URL names the server: redis://user:password@host:port/database, or rediss:// with TLS.
	URL string
	// Prefix begins all keys; "dabba:" if empty. Stores with different prefixes know nothing of one another.
	Prefix string
	// Now, if set, is the time instead of that of the server's clock.
	Now func() time.Time
	// Silence is after how long without a word from the server calls fail at once instead of waiting for it; those that wait
	// already are given up after three times as long. 0 is one second.
	Silence time.Duration
	// Warning, if set, is called with a sentence for a person: a server that keeps less than it could. It may not block.
	Warning func(string)
}

// Store implements [store.Store] on one Redis server. It keeps nothing itself: any number of them, in any number of
// processes, may serve the same server.
type Store struct {
	o      Options
	client *redis.Client
	pulse  *pulse
	info   store.Info
	// seen is the latest queue time that was answered, in milliseconds.
	seen atomic.Int64
	watcher

	mu     sync.RWMutex
	closed bool
	calls  sync.WaitGroup // those that began before closed was set
}

// Open connects to the server and checks that it can be relied on: its version, its eviction policy and the format of
// what it keeps. It returns [store.ErrVersion] when the version of the server or of the format does not fit, and
// [store.ErrUnavailable] when the server does not answer.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Prefix == "" {
		o.Prefix = "dabba:"
	}
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("key prefix %q has a brace, which decides over slots; choose one without", o.Prefix)
	}
	if o.Warning == nil {
		o.Warning = func(string) {}
	}
	quiet()
	co, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("URL of the Redis server (it is like redis://user:password@host:6379/0): %w", err)
	}
	co.MaxRetries = -1 // a script that was sent may have run
	co.DialerRetries = 1
	co.DialTimeout = time.Second
	co.ReadTimeout = cmp.Or(co.ReadTimeout, 10*time.Second) // a server that is busy for long answers late
	co.WriteTimeout = cmp.Or(co.WriteTimeout, 10*time.Second)
	co.PoolTimeout = cmp.Or(co.PoolTimeout, 5*time.Second)
	co.ContextTimeoutEnabled = true
	co.DisableIdentity = true
	co.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s := &Store{o: o, pulse: newPulse(cmp.Or(o.Silence, defaultSilence))}
	asking := *co
	asking.PoolSize, asking.MinIdleConns = 1, 0
	co.Dialer = s.pulse.dialer(redis.NewDialer(co))
	s.client = redis.NewClient(co)
	s.client.AddHook(s.pulse)
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store at %s: %w", co.Addr, err), s.Close())
	}
	s.work.Go(s.lookAfterMoves)
	s.work.Go(func() {
		client := redis.NewClient(&asking)
		defer client.Close() //nolint:errcheck // nothing is sent over it
		s.pulse.watch(s.life, client)
	})
	return s, nil
}

// quiet keeps the client from writing to standard error: all that it would say there is in the errors it returns.
var quiet = sync.OnceFunc(logging.Disable)

// enter begins a call, which ends with calls.Done. It is [store.ErrClosed] after Close.
func (s *Store) enter() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// do makes plain calls that may be repeated without harm, and repeats them once when their outcome is unknown.
func (s *Store) do(ctx context.Context, calls func(redis.Cmdable) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	err := calls(s.client)
	if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) && ctx.Err() == nil {
		err = calls(s.client)
	}
	if err != nil {
		return fault(err, false)
	}
	return nil
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, func(c redis.Cmdable) error { return c.Ping(ctx).Err() })
}

// Info implements [store.Store].
func (s *Store) Info() store.Info { return s.info }

// Close implements [store.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return store.ErrClosed
	}
	s.calls.Wait()
	s.stop()
	return s.client.Close()
}

// millis is a duration in whole milliseconds, rounded up, so that nothing is early.
func millis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// instantOf turns queue time into an instant for people.
func instantOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// until is how long from now until a due time, as scripts tell it: -1 if there is none.
func until(now, due int64) time.Duration {
	if due < 0 {
		return store.NoDue
	}
	return time.Duration(min(max(due-now, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
