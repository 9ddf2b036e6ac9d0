package redis

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// useTime runs the scripts that keep elapsed time.
func useTime(m *mover) {
	m.Helper()
	if err := m.first.resumeTime(m.Context()); err != nil {
		m.Fatal(err)
	}
}

// timed is a store on servers whose clocks are set, and a queue of each kind for what goes by time.
type timed struct {
	*testing.T
	*Store
}

const (
	plainQueue = store.QueueID(iota + 1)
	fifoQueue
	keepQueue  // with retention
	dedupQueue // with deduplication
)

// steps are what clocks are set by.
var steps = []time.Duration{
	time.Second, -time.Second, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 5 * 24 * time.Hour,
	365 * 24 * time.Hour, -365 * 24 * time.Hour,
}

func newTimed(t *testing.T, s *Store) *timed {
	t.Helper()
	for q, set := range map[store.QueueID]store.Settings{
		plainQueue: {},
		dedupQueue: {DedupWindow: 3 * time.Second},
		fifoQueue:  {Mode: store.FIFO},
		keepQueue:  {Retention: 10 * time.Minute},
	} {
		set.Revision = 1
		if err := s.Configure(t.Context(), q, set); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ConfigureLog(t.Context(), timedLog, store.LogSettings{Revision: 1, Partitions: 1, RetentionAge: 10 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	return &timed{t, s}
}

const timedLog = store.LogID(5)

// sendOnce sends a message under an idempotency key, and says whether that was done before.
func (c *timed) sendOnce(key byte) bool {
	c.Helper()
	r, err := c.Send(c.Context(), store.SendParams{
		Queue: keepQueue, Revision: 1, Entries: []store.Entry{{Payload: []byte("once"), Size: 4}},
		Once: &store.Once{Key: [16]byte{key}, Window: 10 * time.Minute},
	})
	if err != nil {
		c.Fatalf("Send with an idempotency key = %v, want nil", err)
	}
	return r.Duplicate
}

// appendOnce does the same with a record.
func (c *timed) appendOnce(key byte) bool {
	c.Helper()
	r, err := c.Append(c.Context(), store.AppendParams{
		Log: timedLog, Revision: 1, Parts: []store.AppendPart{{Records: []store.LogRecord{{Payload: []byte("r"), Size: 1}}}},
		Once: &store.Once{Key: [16]byte{key}, Window: 10 * time.Minute},
	})
	if err != nil {
		c.Fatalf("Append with an idempotency key = %v, want nil", err)
	}
	return r.Duplicate
}

func (c *timed) send(q store.QueueID, e store.Entry) store.SendResult {
	c.Helper()
	e.Size = uint32(len(e.Payload))
	r, err := c.Send(c.Context(), store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{e}})
	if err != nil {
		c.Fatalf("Send = %v, want nil", err)
	}
	return r
}

// claim leases one message at most.
func (c *timed) claim(q store.QueueID, visibility time.Duration) []store.Delivery {
	c.Helper()
	r, err := c.Claim(c.Context(), store.ClaimParams{Queue: q, Revision: 1, Max: 1, MaxBytes: 1 << 20, Visibility: visibility})
	if err != nil {
		c.Fatalf("Claim = %v, want nil", err)
	}
	return r.Messages
}

// await claims until a message comes, and says how long that took.
func (c *timed) await(q store.QueueID, what string, visibility time.Duration) time.Duration {
	c.Helper()
	begun := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(c.claim(q, visibility)) == 0 {
		if <-tick.C; time.Since(begun) > 10*time.Second {
			c.Fatalf("waited in vain for %s", what)
		}
	}
	return time.Since(begun)
}

// purge empties the queues.
func (c *timed) purge() {
	c.Helper()
	for _, q := range []store.QueueID{plainQueue, fifoQueue, keepQueue, dedupQueue} {
		if _, err := c.Purge(c.Context(), q, store.Selection{}); err != nil {
			c.Fatal(err)
		}
	}
}

// want says that something took about as long as it has to.
func (c *timed) want(what string, took, least, most time.Duration) {
	c.Helper()
	if took < least || took > most {
		c.Errorf("%s took %v, want %v to %v", what, took, least, most)
	}
}

// across does what goes by time before a step, makes the step, and looks at what became of it.
func (c *timed) across(step func()) {
	c.Helper()
	ctx := c.Context()
	c.purge()
	c.send(keepQueue, store.Entry{Payload: []byte("kept")})
	c.send(keepQueue, store.Entry{Payload: []byte("kept for a while"), TTL: time.Minute})
	c.send(dedupQueue, store.Entry{Payload: []byte("first"), Dedup: store.DedupKey{1}})
	c.send(plainQueue, store.Entry{Payload: []byte("first")})
	leased := time.Now()
	if n := len(c.claim(plainQueue, 2*time.Second)); n != 1 {
		c.Fatalf("Claim gave %d messages, want 1", n)
	}
	c.send(fifoQueue, store.Entry{Payload: []byte("a"), Group: "g"})
	c.send(fifoQueue, store.Entry{Payload: []byte("b"), Group: "g"})
	locked := time.Now()
	if n := len(c.claim(fifoQueue, 2*time.Second)); n != 1 {
		c.Fatalf("Claim gave %d messages, want 1", n)
	}
	key := byte(time.Now().UnixNano())
	if c.sendOnce(key) || c.appendOnce(key) {
		c.Error("what is sent for the first time is a duplicate")
	}
	begun := time.Now()
	step()
	took := time.Since(begun)
	if !c.sendOnce(key) || !c.appendOnce(key) {
		c.Error("what is sent again within the window of its idempotency key is no duplicate")
	}
	if r, err := c.SweepLog(ctx, timedLog); err != nil || r.Trimmed != 0 {
		c.Errorf("SweepLog = %+v, %v; want nothing removed", r, err)
	}
	r := c.send(dedupQueue, store.Entry{Payload: []byte("again"), Dedup: store.DedupKey{1}})
	if time.Since(leased) < 2*time.Second && r.Fates == nil {
		c.Errorf("a duplicate was accepted within the window: %+v", r)
	}
	c.await(plainQueue, "the end of a lease", time.Minute)
	c.want("a lease of 2 s", time.Since(leased), 900*time.Millisecond, 5*time.Second+took)
	c.await(fifoQueue, "the end of a group's lock", time.Minute)
	c.want("a lock of 2 s", time.Since(locked), 900*time.Millisecond, 5*time.Second+took)
	sent := time.Now()
	c.send(plainQueue, store.Entry{Payload: []byte("late"), Delay: time.Second})
	c.await(plainQueue, "a delay of 1 s", time.Minute)
	c.want("a delay of 1 s", time.Since(sent), 900*time.Millisecond, 3*time.Second)
	redistest.Until(c.T, "the end of the window for duplicates", func() error {
		r := c.send(dedupQueue, store.Entry{Payload: []byte("first again"), Dedup: store.DedupKey{1}})
		if r.Count == 0 {
			return store.ErrConflict
		}
		return nil
	})
	c.want("a window of 3 s", time.Since(leased), 2*time.Second, 8*time.Second+took)
	if res, err := c.Sweep(ctx, keepQueue); err != nil || res.Expired != 0 {
		c.Errorf("Sweep = %+v, %v; want nothing expired", res, err)
	}
	if st, err := c.Stats(ctx, keepQueue); err != nil || st.Ready != 3 {
		c.Errorf("Stats = %+v, %v; want 3 messages ready", st, err)
	}
}

// The clock of a server may be set while nodes run: what goes by elapsed time does not notice.
func TestClockSet(t *testing.T) {
	t.Parallel()
	for _, by := range steps {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.SettableClock)
			set := make(chan ClockSet, 100)
			s := open(t, Options{URL: server.URL, ClockSet: func(c ClockSet) { set <- c }})
			c := newTimed(t, s)
			c.across(func() { server.SetClock(t, by) })
			if by.Abs() <= time.Second {
				return // it may or may not be noticed
			}
			if got := <-set; (got.By-by).Abs() > time.Second || len(set) > 0 {
				t.Errorf("%+v was reported, and %d more; want one step of %v", got, len(set), by)
			}
		})
	}
}

// agree says that stores take elapsed time for the same.
func agree(t *testing.T, a, b *Store) {
	t.Helper()
	if off := a.elapsed.now() - b.elapsed.now(); far(off) {
		t.Errorf("two nodes differ by %d ms on elapsed time, want less than a second", off)
	}
}

// A server whose clock was set while no node ran is like one that was found after some time, at least none.
func TestClockSetWhileClosed(t *testing.T) {
	t.Parallel()
	for _, by := range steps {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.SettableClock)
			o := Options{URL: server.URL}
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			c := newTimed(t, s)
			c.send(keepQueue, store.Entry{Payload: []byte("kept")})
			c.send(keepQueue, store.Entry{Payload: []byte("kept for a while"), TTL: time.Minute})
			sent := time.Now()
			c.send(plainQueue, store.Entry{Payload: []byte("late"), Delay: 2 * time.Second})
			before := s.elapsed.now()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			server.SetClock(t, by)
			gaps := 0
			o.Gap = func(store.Gap) { gaps++ }
			s = open(t, o)
			c.Store = s
			gap := time.Duration(s.elapsed.now()-before) * time.Millisecond
			c.want("the interval without a node", gap-max(by, 0), -100*time.Millisecond, 10*time.Second)
			protected := s.elapsed.protected.Load() > s.elapsed.now()
			if implausible := by < 0 || by >= time.Hour; implausible != protected || implausible != (gaps == 1) {
				t.Errorf("messages are protected: %v, with %d gaps reported; want %v", protected, gaps, implausible)
			}
			if _, err := c.Sweep(t.Context(), keepQueue); err != nil {
				t.Fatal(err)
			}
			if st, err := c.Stats(t.Context(), keepQueue); err != nil || st.Ready != 2 {
				t.Errorf("Stats = %+v, %v; want 2 messages ready", st, err)
			}
			c.await(plainQueue, "a delay of 2 s", time.Minute)
			c.want("a delay of 2 s", time.Since(sent), 0, 8*time.Second)
			if n := len(c.claim(keepQueue, time.Minute)); n != 1 {
				t.Errorf("Claim gave %d messages that are protected, want 1", n)
			}
		})
	}
}

// A node that starts goes by the elapsed time of those that run, whatever the clock of the server shows.
func TestClockSetBeforeANodeStarts(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour, -2 * time.Second} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.SettableClock)
			first := open(t, Options{URL: server.URL})
			server.SetClock(t, by)
			second := open(t, Options{URL: server.URL})
			agree(t, first, second)
			if second.elapsed.protected.Load() > 0 {
				t.Error("messages are protected although a node ran all the time")
			}
		})
	}
}

// watched gathers warnings.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// with lists those that have a word in them.
func (w *warnings) with(word string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, text := range w.list {
		if strings.Contains(text, word) {
			list = append(list, text)
		}
	}
	return list
}

// A server that stands still for a while has no other clock, and the calls that waited are made.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	set := make(chan ClockSet, 100)
	s := open(t, Options{URL: server.URL, ClockSet: func(c ClockSet) { set <- c }})
	c := newTimed(t, s)
	had := s.elapsed.record.correction
	server.Freeze(t)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() { c.send(plainQueue, store.Entry{Payload: []byte("slow")}) })
	}
	time.AfterFunc(3*time.Second, func() { server.Thaw(t) })
	calls.Wait()
	if st, err := s.Stats(t.Context(), plainQueue); err != nil || st.Ready != 20 {
		t.Errorf("Stats = %+v, %v; want 20 messages", st, err)
	}
	if len(set) > 0 {
		t.Errorf("reported %+v, want nothing", <-set)
	}
	s.elapsed.mu.Lock()
	defer s.elapsed.mu.Unlock()
	if s.elapsed.record.correction != had {
		t.Errorf("the server's clock is corrected by %d ms, want %d as before", s.elapsed.record.correction, had)
	}
}

// A node whose own measure of time is wrong follows the others.
func TestNodeMissesTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var w warnings
	first := open(t, Options{URL: server.URL})
	real, missed := monotonic(), atomic.Int64{}
	second := open(t, Options{URL: server.URL, Warning: w.add, Monotonic: func() time.Duration { return real() - time.Duration(missed.Load()) }})
	redistest.Until(t, "the first node to write the record", func() error {
		first.elapsed.mu.Lock()
		defer first.elapsed.mu.Unlock()
		if first.elapsed.record.by != first.id {
			return errors.New("it was the other one")
		}
		return nil
	})
	missed.Store(int64(time.Minute))
	c := newTimed(t, second)
	c.across(func() {})
	agree(t, first, second)
	if list := w.with("has missed"); len(list) != 1 {
		t.Errorf("warned %q, want one warning of what was missed", list)
	}
}

// A server that is emptied while nodes run has their elapsed time again.
func TestEmptiedKeepsTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.SettableClock)
	s := open(t, Options{URL: server.URL})
	server.SetClock(t, time.Hour)
	newTimed(t, s)
	before := s.elapsed.now()
	if err := redistest.Client(t, server.URL).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	redistest.Until(t, "the record", func() error {
		rec, at, err := s.readTime(t.Context())
		if err == nil && (rec.fence == 0 || at.off(rec.correction) != 0) {
			err = fmt.Errorf("it is %+v", rec)
		}
		return err
	})
	if gone := s.elapsed.now() - before; gone < 0 || gone > 20_000 {
		t.Errorf("%d ms have elapsed, want some seconds at most", gone)
	}
}

// What an earlier version has recorded, ahead of the server's clock, is where elapsed time begins.
func TestTimeRecordedBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.SettableClock)
	s, err := Open(t.Context(), Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := newTimed(t, s)
	c.send(plainQueue, store.Entry{Payload: []byte("a")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	client := redistest.Client(t, server.URL)
	if err := client.Del(t.Context(), s.clockKeys()...).Err(); err != nil {
		t.Fatal(err)
	}
	server.SetClock(t, -24*time.Hour)
	c.Store = open(t, Options{URL: server.URL})
	c.across(func() {})
}

// A replica whose clock is another one may become the master.
func TestFailoverToAnotherClock(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -365 * 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			fleet := redistest.StartSentinel(t, redistest.SettableClock)
			master := fleet.Master(t)
			for _, s := range fleet.Servers {
				if s != master {
					s.SetClock(t, by)
				}
			}
			s := open(t, Options{URL: fleet.URL, Silence: time.Second})
			other := open(t, Options{URL: fleet.URL, Silence: time.Second})
			c := newTimed(t, s)
			if err := s.Configure(t.Context(), 9, store.Settings{Revision: 1}); err != nil {
				t.Fatal(err)
			}
			c.across(func() {
				fleet.AwaitWhole(t)
				master.Kill()
				sendUntil(t, s, 9, "after")
			})
			agree(t, s, other)
		})
	}
}

// A test that moves the time of one process forward moves that of all.
func TestAdvance(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var w warnings
	real, moved := monotonic(), atomic.Int64{}
	set := make(chan ClockSet, 100)
	o := Options{URL: server.URL, Warning: w.add, Advances: true, ClockSet: func(c ClockSet) { set <- c }}
	other := open(t, o)
	o.Monotonic = func() time.Duration { return real() + time.Duration(moved.Load()) }
	s := open(t, o)
	c := newTimed(t, s)
	c.send(plainQueue, store.Entry{Payload: []byte("a"), Delay: time.Hour})
	before := s.elapsed.now()
	moved.Store(int64(time.Hour))
	if n := len(c.claim(plainQueue, time.Hour)); n != 1 {
		t.Errorf("Claim an hour later gave %d messages, want 1", n)
	}
	redistest.Until(t, "the other process to follow", func() error {
		if gone := other.elapsed.now() - before; gone < 3_600_000 {
			return fmt.Errorf("%d ms have elapsed there", gone)
		}
		return nil
	})
	if list := w.with("lock"); len(list) > 0 || len(set) > 0 {
		t.Errorf("warned of clocks that nobody has set: %q, %d times", list, len(set))
	}
}

// The clock of one master of a cluster may be set, of any: that with the catalog, or another one.
func TestClockSetInACluster(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 0, redistest.SettableClock)
	s := open(t, Options{URL: fleet.URL, Silence: time.Second})
	other := open(t, Options{URL: fleet.URL, Silence: time.Second})
	c := newTimed(t, s)
	for i, key := range []string{s.clockKeys()[0], s.keys('q', uint64(plainQueue), "c")[0]} {
		master := fleet.MasterOf(t, key)
		c.across(func() {
			master.SetClock(t, time.Duration(1-2*i)*time.Hour)
			redistest.Until(t, "the cluster to serve", func() error {
				for _, q := range []store.QueueID{plainQueue, fifoQueue, keepQueue, dedupQueue} {
					if _, err := s.Stats(t.Context(), q); err != nil {
						return err
					}
				}
				return nil
			})
		})
		agree(t, s, other)
	}
}

// What earlier versions have kept of queues and logs is read as it was.
func TestTimesKeptBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, Options{URL: server.URL})
	c, ctx := newTimed(t, s), t.Context()
	c.send(plainQueue, store.Entry{Payload: []byte("a"), Delay: time.Millisecond})
	at := time.UnixMilli(1_700_000_000_000).UTC()
	_, err := s.Append(ctx, store.AppendParams{Log: timedLog, Revision: 1, Parts: []store.AppendPart{{
		Records: []store.LogRecord{{Payload: []byte("r"), Size: 1, Time: at}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	client := redistest.Client(t, server.URL)
	facts := s.logKeys(timedLog, nil, 0)[1]
	for _, level := range []string{"2:0", "3:0"} {
		if err := client.HSet(ctx, facts, level, "1700000000000").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.HDel(ctx, s.keys('q', uint64(plainQueue), "c")[0], "waits").Err(); err != nil {
		t.Fatal(err)
	}
	c.await(plainQueue, "a delay of 1 ms", time.Minute)
	c.appendOnce(1)
	for want, sought := range map[store.Offset]time.Time{0: at, 1: at.Add(time.Millisecond), 2: time.Now().Add(time.Hour)} {
		if got, err := s.Seek(ctx, timedLog, 0, sought); err != nil || got != want {
			t.Errorf("Seek(%v) = %d, %v; want %d", sought, got, err, want)
		}
	}
	r, err := s.Fetch(ctx, store.FetchParams{Log: timedLog, Max: 2, MaxBytes: 10})
	if err != nil || len(r.Records) != 2 || !r.Records[0].Time.Equal(at) || time.Since(r.Records[1].Time).Abs() > time.Minute {
		t.Errorf("Fetch = %+v, %v; want a record of %v and one of now", r.Records, err, at)
	}
}
