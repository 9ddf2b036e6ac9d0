package redis

import (
	"cmp"
	"context"
	"crypto/rand"
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

	"github.com/dabba-mq/dabba/store"
)

// version is that of the keys' format, see the package's comment.
const version = "1"

// Options configure a Store. URL is required.
type Options struct {
	// URL names what keeps everything; with rediss for redis, over TLS:
	//
	//	redis://user:password@host:port/database                       a server
	//	redis-sentinel://user:password@host:port,host:port/name        the master that sentinels call by that name
	//	redis-cluster://user:password@host:port,host:port              a cluster
	//
	// Sentinels have a user and a password of their own: ?sentinel_username=…&sentinel_password=…
	URL string
	// Prefix begins all keys; "dabba:" if empty. Stores with different prefixes know nothing of one another.
	Prefix string
	// Now, if set, is elapsed time, for tests: all processes that share the store have to agree on it. Otherwise they find out by
	// themselves.
	Now func() time.Time
	// Wall is the wall clock, which may be set at any time; nil means Now, or else the machine's.
	Wall func() time.Time
	// Monotonic is a clock that is never set and also runs while the machine is suspended; only its differences count. Nil
	// means the machine's.
	Monotonic func() time.Duration
	// Advances says that Monotonic may be moved forward, by tests. Then elapsed time is moved for all processes that share
	// the store.
	Advances bool
	// Silence is after how long without a word from the server calls fail at once instead of waiting for it; those that wait
	// already are given up after three times as long. 0 is one second.
	Silence time.Duration
	// Warning, if set, is called with a sentence for a person, once for as long as it holds: a server keeps less than
	// it could, or refuses changes. That is found out when the store is opened and again each second. It may not block.
	Warning func(string)
	// Failover, if set, is called when another process, or one that was started again, has taken a server's place: what was
	// acknowledged just before may be lost. So it is when a server was emptied while it ran. Lost is called when it was counted
	// what is lost of it. Neither may block.
	Failover func(Failover)
	// ClockSet, if set, is called when the clock of a server was set, or one with another clock has taken its place. Gap is
	// called while the store is opened, if it is implausible for how long no process served it. Neither may block.
	ClockSet func(ClockSet)
	Gap      func(store.Gap)
	Lost     func(Loss)
}

// Store implements [store.Store] on Redis. It keeps nothing itself: any number of them, in any number of processes, may
// serve the same servers.
type Store struct {
	o        Options
	endpoint endpoint
	topology topology
	client   redis.UniversalClient // for plain calls
	opened   atomic.Bool
	// seen is the latest queue time that was answered, in milliseconds.
	seen atomic.Int64
	// elapsed is elapsed time, if Options.Now does not say what it is; id tells this process from others that keep it.
	elapsed elapsedTime
	id      string
	// wallAhead is by how much the wall clock was ahead when that was last measured, in milliseconds.
	wallAhead atomic.Int64
	// bumps are the newest of each tag, see fence.go.
	bumps [allTags]atomic.Int64
	// records are what tells the record of each tag from all others, 0 before one was read.
	records [allTags]atomic.Int64
	shards  shardMemory
	// madeLogs are those that this process has configured.
	madeLogs sync.Map // store.LogID -> nil
	watcher
	mergers

	// answers are what this process was told was done; ledger, under counting, which of them were counted as lost.
	answers  answers
	counting sync.Mutex
	ledger   ledger

	// life ends with Close, and with it work: all goroutines but those that calls wait for.
	life context.Context //nolint:containedctx // of what goes on between calls
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.RWMutex
	closed bool
	calls  sync.WaitGroup // those that began before closed was set
}

// Open connects to the servers and checks that they can be relied on: their version, their eviction policy and the format of
// what they keep. It returns [store.ErrVersion] when the version of a server or of the format does not fit, and
// [store.ErrUnavailable] when one does not answer.
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
	o.Silence = cmp.Or(o.Silence, defaultSilence)
	quiet()
	at, err := parseEndpoint(o.URL)
	if err != nil {
		return nil, fmt.Errorf("address of Redis: %w", err)
	}
	if o.Wall == nil && o.Now == nil {
		o.Wall = time.Now //nolint:forbidigo // the clock of the machine, unless another one is given
	}
	s := &Store{o: o, endpoint: at, mergers: newMergers(), id: rand.Text()}
	if s.elapsed.monotonic = o.Monotonic; o.Monotonic == nil {
		s.elapsed.monotonic = monotonic()
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.topology, s.client = s.connect()
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store at %s: %w", strings.Join(at.hosts, ","), err), s.Close())
	}
	s.opened.Store(true)
	s.work.Go(s.lookAfterMoves)
	if o.Now == nil {
		s.work.Go(s.keepTime)
	}
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
		s.topology.failed()
		err = calls(s.client)
	}
	if err != nil {
		return fault(err, false)
	}
	return nil
}

// Ping implements [store.Store]. It is enough that one server of a cluster answers: if nodes were taken out of service while
// another one is replaced, those queues that are well would be gone, too.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.pingAny(ctx)
	if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) && ctx.Err() == nil {
		s.topology.failed()
		err = s.pingAny(ctx)
	}
	if err != nil {
		return fault(err, false)
	}
	return nil
}

func (s *Store) pingAny(ctx context.Context) error {
	all, err := s.topology.masters(ctx)
	for _, v := range all {
		if err = v.client.Ping(ctx).Err(); err == nil {
			return nil
		}
	}
	return err
}

// Close implements [store.Store]. It waits for calls under way, but not for answers that their callers gave up.
func (s *Store) Close() error {
	s.leaveTime()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return store.ErrClosed
	}
	s.calls.Wait()
	s.end()
	err := s.client.Close() // nobody waits for the answers that lanes still do
	s.work.Wait()
	return err
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
