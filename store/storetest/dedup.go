package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// dedupCases: a message that was accepted is not accepted again under its key until the window ends.
var dedupCases = []testCase{
	{"answers with the first message", dedupFirst},
	{"judges entries one by one", dedupBatch},
	{"finds duplicates within a batch", dedupWithinBatch},
	{"lets messages without a key pass", dedupNoKey},
	{"ends with the window", dedupWindow},
	{"counts the window from what was accepted", dedupWindowFixed},
	{"remembers after delete", dedupAfterDelete},
	{"remembers after death and move", dedupAfterMove},
	{"forgets at a purge", dedupPurge},
	{"remembers after a purge of some", dedupPurgeSome},
	{"does not judge what is moved", dedupRedrive},
	{"keeps queues apart", dedupPerQueue},
	{"remembers nothing of what was refused", dedupRefused},
	{"knows a duplicate when the queue is full", dedupFull},
	{"works in each mode", dedupModes},
	{"tells a repeat of the call from a duplicate", dedupOnce},
	{"leaves nothing of a call that appended nothing", dedupOnceNothing},
	{"remembers under new settings", dedupConfigure},
	{"remembers many keys", dedupMany},
}

const dedupWindowLength = 5 * time.Minute

// dedupQueue is a new queue that remembers keys.
func (f *fixture) dedupQueue() store.QueueID {
	f.Helper()
	return f.queue(store.Settings{DedupWindow: dedupWindowLength})
}

// keyed is a message with a deduplication key.
func keyed(body, key string) store.Entry {
	e := entry(body)
	copy(e.Dedup[:], key)
	return e
}

func accepted(seq store.Seq) store.Fate  { return store.Fate{Verdict: store.Accepted, Seq: seq} }
func duplicate(seq store.Seq) store.Fate { return store.Fate{Verdict: store.Duplicate, Seq: seq} }

var (
	dropped = store.Fate{Verdict: store.Dropped}
	refused = store.Fate{Verdict: store.Refused}
)

// wantFates sends messages and expects that this becomes of them: with no fates, that all are accepted.
func (f *fixture) wantFates(q store.QueueID, list []store.Entry, want ...store.Fate) store.SendResult {
	f.Helper()
	r := f.sendEntries(q, list...)
	f.equal(fmt.Sprintf("Send(%d entries).Fates", len(list)), r.Fates, want)
	count := len(list)
	for _, fate := range want {
		if fate.Verdict != store.Accepted {
			count--
		}
	}
	f.equal(fmt.Sprintf("Send(%d entries).Count", len(list)), r.Count, count)
	return r
}

func dedupFirst(f *fixture) {
	q := f.dedupQueue()
	f.send(q, "before")
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.send(q, "between")
	for range 2 {
		r := f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(2))
		f.equal("Send of a duplicate: Duplicate, which is about the call", r.Duplicate, false)
	}
	f.wantClaim(q, 10, "before", "a", "between")
}

func dedupBatch(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "a"), keyed("b", "b")})
	r := f.wantFates(q, []store.Entry{keyed("c", "c"), keyed("b again", "b"), keyed("d", "d"), keyed("a again", "a"), entry("e")},
		accepted(3), duplicate(2), accepted(4), duplicate(1), accepted(5))
	f.equal("Send: First", r.First, store.Seq(3))
	f.wantClaim(q, 10, "a", "b", "c", "d", "e")
}

func dedupWithinBatch(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k"), entry("b"), keyed("again", "k"), keyed("c", "l"), keyed("again", "k")},
		accepted(1), accepted(2), duplicate(1), accepted(3), duplicate(1))
	f.wantClaim(q, 10, "a", "b", "c")
}

func dedupNoKey(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, entries("a", "a"))
	f.wantFates(q, entries("a"))
	f.wantCounts(q, "of equal messages", counts{Ready: 3, Bytes: 3})
}

func dedupWindow(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.clock.Advance(dedupWindowLength - time.Millisecond)
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
	f.clock.Advance(2 * time.Millisecond)
	f.wantFates(q, []store.Entry{keyed("b", "k")})
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(2))
	f.wantClaim(q, 10, "a", "b")
}

func dedupWindowFixed(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	for range 4 {
		f.clock.Advance(dedupWindowLength / 5)
		f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
	}
	f.clock.Advance(dedupWindowLength/5 + time.Millisecond)
	f.wantFates(q, []store.Entry{keyed("b", "k")})
}

// "Dedup forgotten after delete."
func dedupAfterDelete(f *fixture) {
	q := f.queue(store.Settings{DedupWindow: time.Hour, Retention: time.Minute})
	f.wantFates(q, []store.Entry{keyed("a", "acked")})
	f.finish(q, f.wantClaim(q, 1, "a"))
	f.wantFates(q, []store.Entry{keyed("b", "expired")})
	f.clock.Advance(2 * time.Minute)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
	f.wantFates(q, []store.Entry{keyed("again", "acked"), keyed("again", "expired")}, duplicate(1), duplicate(2))
	f.wantCounts(q, "after duplicates", counts{})
}

func dedupAfterMove(f *fixture) {
	q, target := f.dedupQueue(), f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)...)
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
}

// "Dedup … kept after purge."
func dedupPurge(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k"), keyed("b", "l")})
	f.finish(q, f.wantClaim(q, 1, "a"))
	f.purge(q, store.Selection{})
	f.wantFates(q, []store.Entry{keyed("c", "k"), keyed("d", "l")})
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(3))
	f.wantClaim(q, 10, "c", "d")
}

func dedupPurgeSome(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.equal("Purge of the ready: Purged", f.purge(q, store.Selection{States: store.StateReady}).Purged, int64(1))
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
}

// Redrive bypasses it.
func dedupRedrive(f *fixture) {
	q, target := f.dedupQueue(), f.dedupQueue()
	f.wantFates(target, []store.Entry{keyed("there", "k")})
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)...)
	f.equal("Move: Moved", f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1}).Moved, 1)
	f.wantClaim(target, 10, "there", "a")
}

func dedupPerQueue(f *fixture) {
	for range 3 {
		q := f.dedupQueue()
		f.wantFates(q, []store.Entry{keyed("a", "k")})
	}
}

func dedupRefused(f *fixture) {
	for _, c := range []struct {
		overflow store.Overflow
		fate     store.Fate
	}{{store.Reject, refused}, {store.DropNewest, dropped}} {
		q := f.queue(store.Settings{DedupWindow: time.Hour, MaxMessages: 1, Overflow: c.overflow})
		f.wantFates(q, []store.Entry{entry("a"), keyed("b", "k")}, accepted(1), c.fate)
		f.finish(q, f.wantClaim(q, 1, "a"))
		f.wantFates(q, []store.Entry{keyed("b", "k")})
		f.wantClaim(q, 1, "b")
	}
}

func dedupFull(f *fixture) {
	for _, overflow := range []store.Overflow{store.Reject, store.DropNewest, store.DropOldest} {
		q := f.queue(store.Settings{DedupWindow: time.Hour, MaxMessages: 1, Overflow: overflow})
		f.wantFates(q, []store.Entry{keyed("a", "k")})
		r := f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
		f.equal("Send of a duplicate to a full queue: Evicted", r.Evicted, 0)
		f.wantClaim(q, 1, "a")
	}
}

func dedupModes(f *fixture) {
	for _, mode := range []store.Mode{store.Standard, store.Fair, store.FIFO} {
		q := f.queue(store.Settings{Mode: mode, DedupWindow: time.Hour})
		e := keyed("a", "k")
		e.Group = "g"
		f.wantFates(q, []store.Entry{e, grouped("b", "g")})
		r := f.wantClaim(q, 1, "a")
		f.wantFates(q, []store.Entry{e}, duplicate(1))
		f.finish(q, r)
		f.wantFates(q, []store.Entry{e}, duplicate(1))
		f.wantClaim(q, 10, "b")
	}
}

func dedupOnce(f *fixture) {
	q := f.dedupQueue()
	list := []store.Entry{keyed("a", "k"), keyed("again", "k")}
	for i := range 2 {
		r := f.sendOnce(q, onceKey("call", "f", time.Hour), list...)
		f.equal("Send: First and Count", [2]any{r.First, r.Count}, [2]any{store.Seq(1), 1})
		f.equal("Send: Fates", r.Fates, []store.Fate{accepted(1), duplicate(1)})
		f.equal("Send: Duplicate", r.Duplicate, i > 0)
	}
	f.wantClaim(q, 10, "a")
}

func dedupOnceNothing(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	for range 2 {
		r := f.sendOnce(q, onceKey("call", "f", time.Hour), keyed("again", "k"))
		f.equal("Send of duplicates only: Duplicate, which is about the call", r.Duplicate, false)
		f.equal("Send of duplicates only: Fates", r.Fates, []store.Fate{duplicate(1)})
	}
	r := f.sendOnce(q, onceKey("call", "other", time.Hour), entry("b"))
	f.equal("Send of other content: Duplicate", r.Duplicate, false)
	f.wantClaim(q, 10, "a", "b")
}

func dedupConfigure(f *fixture) {
	q := f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.configure(q, store.Settings{DedupWindow: dedupWindowLength, MaxReceives: 3})
	f.wantFates(q, []store.Entry{keyed("again", "k")}, duplicate(1))
}

func dedupMany(f *fixture) {
	q := f.dedupQueue()
	const keys = 500
	list := make([]store.Entry, keys)
	fates := make([]store.Fate, keys)
	for i := range list {
		list[i], fates[i] = keyed("a", fmt.Sprint("key ", i)), duplicate(store.Seq(i+1))
	}
	f.wantFates(q, list)
	f.finish(q, f.claim(q, keys))
	f.wantFates(q, list, fates...)
	f.clock.Advance(dedupWindowLength + time.Millisecond)
	f.wantFates(q, list)
	f.wantCounts(q, "after three rounds", counts{Ready: keys, Bytes: keys})
}
