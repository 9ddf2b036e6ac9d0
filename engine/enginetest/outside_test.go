package enginetest_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// A store with connections cannot live in a synctest bubble: who waits for the network is not at rest, so that time would
// never go on. Here the store stays outside, in the world: each call is made there, while the goroutine in the bubble waits
// for it and time stands still. What the call has announced is handed to the engine in the bubble before it returns.

// world makes calls outside of all bubbles.
type world struct {
	ctx     context.Context //nolint:containedctx // of the test that runs all others
	url     string
	workers chan *worker
	// news publishes, so that a subscriber can tell that it has heard all there was before.
	news func(ctx context.Context, channel, text string) error
	// families are the stores on the keys of one prefix.
	mu       sync.Mutex
	families map[string]*family
}

// family are the stores that are open on the keys of one prefix: what one announces all hear.
type family struct {
	channel string
	// catching is held by whoever waits for a mark: a word that is published to learn that all before it was heard.
	catching sync.Mutex

	mu      sync.Mutex
	members []*outside // those that watch
}

// worker is a goroutine of the world. Its channels were made there, so that waiting for them is no rest.
type worker struct {
	job  chan func()
	done chan struct{}
}

// newWorld has so many workers, which end with the test.
func newWorld(t *testing.T, url string, workers int) *world {
	t.Helper()
	client := redistest.Client(t, url)
	w := &world{
		ctx: context.WithoutCancel(t.Context()), url: url, workers: make(chan *worker, workers),
		families: make(map[string]*family),
		news: func(ctx context.Context, channel, text string) error {
			return client.SPublish(ctx, channel, text).Err()
		},
	}
	var all sync.WaitGroup
	var jobs []chan func()
	for range workers {
		one := &worker{make(chan func()), make(chan struct{})}
		jobs = append(jobs, one.job)
		w.workers <- one
		all.Go(func() {
			for f := range one.job {
				f()
				one.done <- struct{}{}
			}
		})
	}
	t.Cleanup(func() {
		for _, c := range jobs {
			close(c)
		}
		all.Wait()
	})
	return w
}

// do has f done in the world.
func (w *world) do(f func()) {
	one := <-w.workers
	one.job <- f
	<-one.done
	w.workers <- one
}

// open opens a store over the keys of a prefix, with the clock of a bubble.
func (w *world) open(prefix string, now func() time.Time) (*outside, error) {
	w.mu.Lock()
	f := w.families[prefix]
	if f == nil {
		f = &family{channel: prefix + "{00}news"}
		w.families[prefix] = f
	}
	w.mu.Unlock()
	s := &outside{world: w, family: f, now: now}
	w.do(func() { s.marks = make(chan struct{}, 1) })
	var err error
	s.tick()
	w.do(func() {
		s.store, err = redis.Open(w.ctx, redis.Options{URL: w.url, Prefix: prefix, Now: s.instant, Silence: time.Minute})
	})
	return s, err
}

// outside is a store in the world, as it is seen from a bubble.
type outside struct {
	world   *world
	store   *redis.Store
	now     func() time.Time
	present atomic.Int64
	family  *family

	notify     func(store.QueueID)
	notifyLogs func(store.LogID, uint32)

	marks chan struct{}

	mu    sync.Mutex
	heard []func() // to be called in the bubble
}

var _ store.Store = (*outside)(nil)

// tick takes over the time of the bubble.
func (s *outside) tick() { s.present.Store(s.now().UnixNano()) }

func (s *outside) instant() time.Time { return time.Unix(0, s.present.Load()) }

// Watch implements [store.Store].
func (s *outside) Watch(notify func(store.QueueID)) {
	s.notify = notify
	s.world.do(func() {
		s.store.Watch(func(id store.QueueID) {
			if id == 0 { // which no queue has: the mark
				s.marks <- struct{}{}
				return
			}
			s.hear(func() { s.notify(id) })
		})
		s.family.join(s)
	})
}

// WatchLogs implements [store.LogAdmin].
func (s *outside) WatchLogs(notify func(store.LogID, uint32)) {
	s.notifyLogs = notify
	s.world.do(func() {
		s.store.WatchLogs(func(l store.LogID, p uint32) { s.hear(func() { s.notifyLogs(l, p) }) })
	})
}

func (s *outside) hear(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, f)
}

// join is called once a store watches.
func (f *family) join(s *outside) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.members, s) {
		f.members = append(f.members, s)
	}
}

func (f *family) leave(s *outside) {
	f.catching.Lock() // nobody waits for its mark any more
	defer f.catching.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = slices.DeleteFunc(f.members, func(m *outside) bool { return m == s })
}

func (f *family) all() []*outside {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.members)
}

// catchUp returns when everything that was announced so far was heard by all.
func (f *family) catchUp(w *world) error {
	f.catching.Lock()
	defer f.catching.Unlock()
	all := f.all()
	if len(all) == 0 {
		return nil
	}
	if err := w.news(w.ctx, f.channel, "q0"); err != nil {
		return err
	}
	for _, s := range all {
		<-s.marks
	}
	return nil
}

// handOver calls in the bubble what was heard.
func (s *outside) handOver() {
	s.mu.Lock()
	heard := s.heard
	s.heard = nil
	s.mu.Unlock()
	for _, f := range heard {
		f()
	}
}

// away makes a call in the world.
func away[T any](ctx context.Context, s *outside, call func(context.Context) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	s.tick()
	s.world.do(func() {
		result, err = call(s.world.ctx)
		if lost := s.family.catchUp(s.world); err == nil && lost != nil {
			err = lost
		}
	})
	for _, member := range s.family.all() {
		member.handOver()
	}
	return result, err
}

// only is a call without a result.
func only(ctx context.Context, s *outside, call func(context.Context) error) error {
	_, err := away(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

func (s *outside) Ping(ctx context.Context) error { return only(ctx, s, s.store.Ping) }

func (s *outside) Info() store.Info { return s.store.Info() }

// Clock implements [store.Store].
func (s *outside) Clock() store.Clock {
	s.tick()
	return s.store.Clock()
}

func (s *outside) Close() (err error) {
	s.world.do(func() {
		s.family.leave(s)
		err = s.store.Close()
	})
	return err
}

func (s *outside) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.SendResult, error) { return s.store.Send(ctx, p) })
}

func (s *outside) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.ClaimResult, error) { return s.store.Claim(ctx, p) })
}

func (s *outside) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.SettleResult, error) { return s.store.Settle(ctx, p) })
}

func (s *outside) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.MoveResult, error) { return s.store.Move(ctx, p) })
}

func (s *outside) Stats(ctx context.Context, q store.QueueID) (store.Stats, error) {
	return away(ctx, s, func(ctx context.Context) (store.Stats, error) { return s.store.Stats(ctx, q) })
}

func (s *outside) Configure(ctx context.Context, q store.QueueID, settings store.Settings) error {
	return only(ctx, s, func(ctx context.Context) error { return s.store.Configure(ctx, q, settings) })
}

func (s *outside) Drop(ctx context.Context, q store.QueueID) error {
	return only(ctx, s, func(ctx context.Context) error { return s.store.Drop(ctx, q) })
}

func (s *outside) Purge(ctx context.Context, q store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.PurgeResult, error) { return s.store.Purge(ctx, q, sel) })
}

func (s *outside) Scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.ScanResult, error) { return s.store.Scan(ctx, p) })
}

func (s *outside) Lookup(ctx context.Context, q, origin store.QueueID, seq store.Seq) (store.View, error) {
	return away(ctx, s, func(ctx context.Context) (store.View, error) { return s.store.Lookup(ctx, q, origin, seq) })
}

func (s *outside) Groups(ctx context.Context, q store.QueueID, after *string, limit int) ([]store.Group, error) {
	return away(ctx, s, func(ctx context.Context) ([]store.Group, error) { return s.store.Groups(ctx, q, after, limit) })
}

func (s *outside) Sweep(ctx context.Context, q store.QueueID) (store.SweepResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.SweepResult, error) { return s.store.Sweep(ctx, q) })
}

func (s *outside) Queues(ctx context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	return away(ctx, s, func(ctx context.Context) ([]store.QueueID, error) { return s.store.Queues(ctx, after, limit) })
}

func (s *outside) Get(ctx context.Context, key string) (store.Pair, error) {
	return away(ctx, s, func(ctx context.Context) (store.Pair, error) { return s.store.Get(ctx, key) })
}

func (s *outside) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	return away(ctx, s, func(ctx context.Context) (store.Revision, error) { return s.store.Put(ctx, key, value, prev) })
}

func (s *outside) Delete(ctx context.Context, key string, prev store.Revision) error {
	return only(ctx, s, func(ctx context.Context) error { return s.store.Delete(ctx, key, prev) })
}

func (s *outside) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	return away(ctx, s, func(ctx context.Context) ([]store.Pair, error) { return s.store.List(ctx, prefix, after, limit) })
}

func (s *outside) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.AppendResult, error) { return s.store.Append(ctx, p) })
}

func (s *outside) Fetch(ctx context.Context, p store.FetchParams) (store.FetchResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.FetchResult, error) { return s.store.Fetch(ctx, p) })
}

func (s *outside) Seek(ctx context.Context, l store.LogID, partition uint32, at time.Time) (store.Offset, error) {
	return away(ctx, s, func(ctx context.Context) (store.Offset, error) { return s.store.Seek(ctx, l, partition, at) })
}

func (s *outside) Bounds(ctx context.Context, l store.LogID) ([]store.Bounds, error) {
	return away(ctx, s, func(ctx context.Context) ([]store.Bounds, error) { return s.store.Bounds(ctx, l) })
}

func (s *outside) ConfigureLog(ctx context.Context, l store.LogID, settings store.LogSettings) error {
	return only(ctx, s, func(ctx context.Context) error { return s.store.ConfigureLog(ctx, l, settings) })
}

func (s *outside) DropLog(ctx context.Context, l store.LogID) error {
	return only(ctx, s, func(ctx context.Context) error { return s.store.DropLog(ctx, l) })
}

func (s *outside) Trim(ctx context.Context, l store.LogID, partition uint32, before store.Offset) (store.Bounds, error) {
	return away(ctx, s, func(ctx context.Context) (store.Bounds, error) { return s.store.Trim(ctx, l, partition, before) })
}

func (s *outside) SweepLog(ctx context.Context, l store.LogID) (store.LogSweepResult, error) {
	return away(ctx, s, func(ctx context.Context) (store.LogSweepResult, error) { return s.store.SweepLog(ctx, l) })
}

func (s *outside) Logs(ctx context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	return away(ctx, s, func(ctx context.Context) ([]store.LogID, error) { return s.store.Logs(ctx, after, limit) })
}
