package storetest

import (
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// watchCases: what becomes ready through a call is announced to those who wait, whichever call it was. The cases of
// "waiting receive not woken by …" that are left to time are those of NextDue.
var watchCases = []testCase{
	{"tells of a send", watchSend},
	{"tells of a nack", watchNack},
	{"tells of a lease ended by its holder", watchVisibilityZero},
	{"tells of a move", watchMove},
	{"tells of a group that is free again", watchGroup},
	{"tells of room in flight", watchInFlight},
	{"tells of what is made due by its sequence", watchReschedule},
	{"tells of a release", watchRelease},
	{"tells the right queue", watchQueue},
	{"does not tell of time", watchTime},
	{"tells when the change can be seen", watchAfter},
}

// watcher counts announcements.
type watcher struct {
	mu   sync.Mutex
	told map[store.QueueID]int
	wake chan struct{}
}

func watch(f *fixture) *watcher {
	w := &watcher{told: make(map[store.QueueID]int), wake: make(chan struct{}, 1)}
	f.store.Watch(func(q store.QueueID) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told[q]++
		select {
		case w.wake <- struct{}{}:
		default:
		}
	})
	return w
}

// reset forgets what was told so far.
func (w *watcher) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.told)
}

func (w *watcher) count(q store.QueueID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[q]
}

// want waits until the queue was announced. A backend may do that a moment after it answered.
func (w *watcher) want(f *fixture, q store.QueueID, after string) {
	f.Helper()
	limit := time.After(10 * time.Second)
	for w.count(q) == 0 {
		select {
		case <-w.wake:
		case <-limit:
			f.Fatalf("Watch: was not told of queue %v within 10 s after %s", q, after)
		}
	}
	w.reset()
}

func watchSend(f *fixture) {
	w := watch(f)
	q := f.queue(store.Settings{})
	f.send(q, "a")
	w.want(f, q, "a send")
	f.sendOnce(q, onceKey("k", "f", time.Hour), entry("a"), entry("b"))
	w.want(f, q, "a send of two")
	f.sendEntries(q, delayed("c", time.Hour), entry("d"))
	w.want(f, q, "a send with one ready message")
}

func watchNack(f *fixture) {
	w := watch(f)
	q := f.queue(store.Settings{})
	f.send(q, "a")
	w.want(f, q, "a send")
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Ready, 0)...)
	w.want(f, q, "a nack")
	i := items(f.wantClaim(q, 1, "a"), store.Ready, 0)[0]
	i.Uncount = true
	f.settle(q, i)
	w.want(f, q, "a delivery taken back")
}

func watchVisibilityZero(f *fixture) {
	w := watch(f)
	q := f.queue(store.Settings{})
	f.send(q, "a")
	w.want(f, q, "a send")
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Leased, 0)...)
	w.want(f, q, "a lease ended by its holder")
}

func watchMove(f *fixture) {
	w := watch(f)
	source, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "a")
	w.want(f, source, "a send")
	f.move(store.MoveParams{Source: source, Target: target, Select: theDead, Limit: 1})
	w.want(f, target, "a move")
}

// What an ack or a reject makes available is told, too: the next of a locked group.
func watchGroup(f *fixture) {
	w := watch(f)
	for _, target := range []store.Target{store.Done, store.Dead} {
		q := f.fifo()
		f.send(q, "a", "b")
		w.want(f, q, "a send")
		f.settle(q, items(f.wantClaim(q, 1, "a"), target, 0)...)
		w.want(f, q, "the end of what locked a group")
		f.settle(q, items(f.wantClaim(q, 1, "b"), store.Ready, time.Hour)...)
		f.send(q, "c")
		f.wantClaim(q, 1)
		w.reset()
		f.settle(q, anyone(2, target, 0))
		w.want(f, q, "the end of what backed off")
	}
}

func watchInFlight(f *fixture) {
	w := watch(f)
	for _, s := range []store.Settings{{MaxInFlight: 1}, {GroupInFlight: 1}} {
		q := f.queue(s)
		f.send(q, "a", "b")
		w.want(f, q, "a send")
		r := f.wantClaim(q, 10, "a")
		f.finish(q, r)
		w.want(f, q, "an ack that left room in flight")
		f.wantClaim(q, 10, "b")
	}
}

func watchReschedule(f *fixture) {
	w := watch(f)
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("a", time.Hour))
	w.reset()
	f.settle(q, anyone(1, store.Ready, 0))
	w.want(f, q, "a message made due")
}

func watchRelease(f *fixture) {
	w := watch(f)
	q := f.queue(store.Settings{})
	f.send(q, "a")
	w.want(f, q, "a send")
	f.claimAs(q, 1, "one")
	f.release(q, "one", 1)
	w.want(f, q, "a release")
}

func watchQueue(f *fixture) {
	w := watch(f)
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(q, "a")
	w.want(f, q, "a send")
	f.send(other, "b")
	w.want(f, other, "a send")
	f.send(q, "a")
	w.want(f, q, "a send")
	f.equal("announcements of a queue to which nothing was sent", w.count(other), 0)
}

func watchTime(f *fixture) {
	w := watch(f)
	q := f.queue(store.Settings{})
	f.send(q, "a")
	w.want(f, q, "a send")
	f.wantClaim(q, 1, "a")
	f.clock.Advance(2 * lease)
	f.stats(q)
	f.wantClaim(q, 1, "a")
	f.equal("announcements of a lease that ended by itself", w.count(q), 0)
}

// Whoever looks after being told finds the message: the change came first.
func watchAfter(f *fixture) {
	ready := make(chan store.QueueID, 100)
	f.store.Watch(func(q store.QueueID) {
		select {
		case ready <- q:
		default:
		}
	})
	q := f.queue(store.Settings{})
	sent := make(chan error, 1)
	const messages = 50
	go func() {
		var err error
		for range messages {
			if _, err = f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("a")}); err != nil {
				break
			}
		}
		sent <- err
	}()
	limit := time.After(20 * time.Second)
	for got := 0; got < messages; {
		select {
		case <-ready:
			got += len(f.claim(q, messages).Messages)
		case <-limit:
			f.Fatalf("Watch: a receiver that claims when told got %d of %d messages within 20 s", got, messages)
		}
	}
	f.wantError("Send", <-sent, nil)
}
