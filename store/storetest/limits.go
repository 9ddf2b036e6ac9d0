package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// limitCases are about bounds: of what a queue may hold, and of what may be in flight.
var limitCases = []testCase{
	{"refuse above a number of messages", limitMessages},
	{"refuse above a number of bytes", limitBytes},
	{"count what is ready, delayed and leased", limitCounts},
	{"leave room when messages go", limitRoom},
	{"do not stop what comes back", limitReturned},
	{"do not apply to moves", limitMoves},
	{"drop the newest when told so", limitDropNewest},
	{"drop the oldest when told so", limitDropOldest},
	{"drop the delayed that are due first", limitDropDelayed},
	{"never drop the leased", limitDropNeverLeased},
	{"drop earlier ones of the same call", limitDropOwn},
	{"drop as many as it takes", limitDropBytes},
	{"drop nothing when that makes no room", limitDropInVain},
	{"let single messages displace others", limitDisplace},
	{"take all or nothing when asked", limitWhole},
	{"take a whole call of duplicates and others", limitWholeDuplicates},
	{"say the same to a repeat", limitOnce},
	{"may be lowered below what is there", limitLowered},
	{"hold in flight what was set", limitInFlight},
	{"free what is in flight in every way", limitInFlightFreed},
	{"hold in flight what was set for a group", limitGroupInFlight},
	{"of groups make standard queues fair", limitGroupFair},
	{"of groups apply in each mode", limitGroupModes},
	{"in flight change with the settings", limitInFlightChanged},
}

func limitMessages(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 3})
	f.wantFates(q, entries("a", "b"))
	f.wantFates(q, entries("c", "d", "e"), accepted(3), refused, refused)
	r := f.wantFates(q, entries("f"), refused)
	f.equal("Send to a full queue: Evicted", r.Evicted, 0)
	f.wantClaim(q, 10, "a", "b", "c")
}

// Entries are judged one by one: a smaller one may fit.
func limitBytes(f *fixture) {
	q := f.queue(store.Settings{MaxBytes: 10})
	f.wantFates(q, entries("123456"))
	f.wantFates(q, entries("12345", "1234", "1"), refused, accepted(2), refused)
	f.wantCounts(q, "of a full queue", counts{Ready: 2, Bytes: 10})
	f.wantFates(f.queue(store.Settings{MaxBytes: 10}), entries("12345678901"), refused)
}

func limitCounts(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 3})
	f.bury(q, "", "dead 1", "dead 2")
	f.sendEntries(q, entry("leased"))
	f.wantClaim(q, 1, "leased")
	f.sendEntries(q, delayed("delayed", time.Hour))
	f.wantFates(q, entries("ready"))
	f.wantFates(q, entries("more"), refused)
	f.wantCounts(q, "of a full queue", counts{Ready: 1, Leased: 1, Delayed: 1, Dead: 2, Bytes: 30})
}

func limitRoom(f *fixture) {
	target := f.queue(store.Settings{})
	for name, leave := range map[string]func(q store.QueueID){
		"an ack": func(q store.QueueID) { f.finish(q, f.claim(q, 1)) },
		"a death": func(q store.QueueID) {
			f.settle(q, items(f.claim(q, 1), store.Dead, 0)...)
		},
		"a move": func(q store.QueueID) { f.move(store.MoveParams{Source: q, Target: target, Limit: 1}) },
		"a purge": func(q store.QueueID) {
			f.purge(q, store.Selection{})
		},
		"retention": func(q store.QueueID) {
			f.clock.Advance(retention + time.Second)
			f.sweep(q)
		},
		"a removal": func(q store.QueueID) {
			f.wantSettle(q, item(1, store.AnyToken, store.Done, 0), store.Settled)
		},
	} {
		q := f.queue(store.Settings{MaxMessages: 1, MaxBytes: 1, Retention: retention})
		f.wantFates(q, entries("a"))
		f.wantFates(q, entries("b"), refused)
		leave(q)
		if r := f.send(q, "c"); r.Count != 1 {
			f.Errorf("Send after %s: got %+v, want it accepted", name, r)
		}
	}
}

func limitReturned(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 2})
	f.wantFates(q, entries("a", "b"))
	r := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	f.clock.Advance(lease)
	f.wantClaim(q, 2, "a", "b")
}

func limitMoves(f *fixture) {
	q, source := f.queue(store.Settings{MaxMessages: 1, MaxBytes: 1}), f.queue(store.Settings{})
	f.wantFates(q, entries("a"))
	f.bury(source, "", "b", "c")
	f.equal("Move to a full queue: Moved", f.move(store.MoveParams{Source: source, Target: q, Select: theDead, Limit: 10}).Moved, 2)
	f.wantFates(q, entries("d"), refused)
	f.wantClaim(q, 10, "a", "b", "c")
}

func limitDropNewest(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 2, Overflow: store.DropNewest})
	r := f.wantFates(q, entries("a", "b", "c"), accepted(1), accepted(2), dropped)
	f.equal("Send: Evicted", r.Evicted, 0)
	f.wantClaim(q, 10, "a", "b")
}

func limitDropOldest(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 3, Overflow: store.DropOldest})
	for _, body := range []string{"a", "b", "c"} {
		f.wantFates(q, entries(body))
		f.clock.Advance(time.Second)
	}
	r := f.wantFates(q, entries("d", "e"))
	f.equal("Send to a full queue: Evicted", r.Evicted, 2)
	f.wantCounts(q, "of a full queue", counts{Ready: 3, Bytes: 3})
	f.wantClaim(q, 10, "c", "d", "e")
}

func limitDropDelayed(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 3, Overflow: store.DropOldest})
	f.sendEntries(q, delayed("late", 20*time.Second), delayed("soon", 10*time.Second), entry("ready"))
	f.equal("Send to a full queue: Evicted", f.wantFates(q, entries("a")).Evicted, 1)
	f.wantCounts(q, "after one gave way", counts{Ready: 1, Delayed: 2, Bytes: 9})
	f.wantClaim(q, 1, "a")
	f.equal("Send to a queue with nothing ready: Evicted", f.wantFates(q, entries("b")).Evicted, 1)
	f.clock.Advance(20 * time.Second)
	f.wantClaim(q, 10, "b", "late")
}

func limitDropNeverLeased(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 2, Overflow: store.DropOldest})
	f.wantFates(q, entries("a", "b"))
	r := f.wantClaim(q, 1, "a")
	f.equal("Send beside a leased message: Evicted", f.wantFates(q, entries("c")).Evicted, 1)
	c := f.wantClaim(q, 1, "c")
	f.wantFates(q, entries("d"), refused)
	f.finish(q, r)
	f.finish(q, c)
}

func limitDropOwn(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 2, Overflow: store.DropOldest})
	r := f.wantFates(q, entries("a", "b", "c", "d", "e"))
	f.equal("Send of more than fits: First and Evicted", [2]int{int(r.First), r.Evicted}, [2]int{1, 3})
	f.wantClaim(q, 10, "d", "e")
}

func limitDropBytes(f *fixture) {
	q := f.queue(store.Settings{MaxBytes: 10, Overflow: store.DropOldest})
	f.wantFates(q, entries("aaa", "bbb", "ccc"))
	r := f.wantFates(q, entries("dddd"))
	f.equal("Send of four bytes with room for one: Evicted", r.Evicted, 1)
	r = f.wantFates(q, entries("12345678"))
	f.equal("Send of eight bytes: Evicted", r.Evicted, 3)
	f.wantClaim(q, 10, "12345678")
}

// A message for which dropping others makes no room is refused, and nothing is lost for it.
func limitDropInVain(f *fixture) {
	q := f.queue(store.Settings{MaxBytes: 10, Overflow: store.DropOldest})
	f.wantFates(q, entries("leased", "abc"))
	f.wantClaim(q, 1, "leased")
	r := f.wantFates(q, entries("12345"), refused)
	f.equal("Send of what cannot fit: Evicted", r.Evicted, 0)
	f.wantFates(q, entries("12345678901"), refused)
	f.wantClaim(q, 10, "abc")
}

func limitDisplace(f *fixture) {
	for overflow, fate := range map[store.Overflow]store.Fate{store.Reject: refused, store.DropNewest: dropped} {
		q := f.queue(store.Settings{MaxMessages: 2, Overflow: overflow})
		f.wantFates(q, entries("a", "b"))
		e := entry("c")
		e.Displace = true
		r := f.wantFates(q, []store.Entry{entry("x"), e, entry("y")}, fate, accepted(3), fate)
		f.equal("Send with one that displaces: Evicted", r.Evicted, 1)
		f.wantClaim(q, 10, "b", "c")
	}
}

func (f *fixture) sendWhole(q store.QueueID, list ...store.Entry) store.SendResult {
	f.Helper()
	return f.sendWith(store.SendParams{Queue: q, Revision: f.revision[q], Entries: list, Whole: true})
}

func limitWhole(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 3, DedupWindow: time.Hour})
	f.wantFates(q, entries("a", "b"))
	r := f.sendWhole(q, keyed("c", "k"), entry("d"))
	f.equal("Send of two with room for one: Fates", r.Fates, []store.Fate{refused, refused})
	f.equal("Send of two with room for one: Count", r.Count, 0)
	f.wantCounts(q, "after a refused call", counts{Ready: 2, Bytes: 2})
	f.finish(q, f.wantClaim(q, 1, "a"))
	r = f.sendWhole(q, keyed("c", "k"), entry("d"))
	f.equal("Send of two with room for two: First and Count", [2]int{int(r.First), r.Count}, [2]int{3, 2})
	f.wantClaim(q, 10, "b", "c", "d")
}

func limitWholeDuplicates(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 2, DedupWindow: time.Hour})
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	r := f.sendWhole(q, keyed("again", "k"), entry("b"))
	f.equal("Send of a duplicate and one more: Fates", r.Fates, []store.Fate{duplicate(1), accepted(2)})
	r = f.sendWhole(q, keyed("again", "k"))
	f.equal("Send of duplicates only to a full queue: Fates", r.Fates, []store.Fate{duplicate(1)})
	f.wantClaim(q, 10, "a", "b")
}

func limitOnce(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 2})
	f.wantFates(q, entries("a"))
	for i := range 2 {
		r := f.sendOnce(q, onceKey("k", "f", time.Hour), entry("b"), entry("c"))
		f.equal("Send: Duplicate", r.Duplicate, i > 0)
		f.equal("Send: First and Count", [2]int{int(r.First), r.Count}, [2]int{2, 1})
		f.equal("Send: Fates", r.Fates, []store.Fate{accepted(2), refused})
	}
	for range 2 { // nothing accepted, nothing to remember
		r := f.sendOnce(q, onceKey("l", "f", time.Hour), entry("d"))
		f.equal("Send of what was refused: Duplicate", r.Duplicate, false)
		f.equal("Send of what was refused: Fates", r.Fates, []store.Fate{refused})
	}
	f.finish(q, f.wantClaim(q, 10, "a", "b"))
	f.equal("Send after there was room: Count", f.sendOnce(q, onceKey("l", "f", time.Hour), entry("d")).Count, 1)
}

func limitLowered(f *fixture) {
	q := f.queue(store.Settings{MaxMessages: 5})
	f.wantFates(q, entries("a", "b", "c", "d"))
	f.configure(q, store.Settings{MaxMessages: 2})
	f.wantFates(q, entries("e"), refused)
	f.wantCounts(q, "above the new bound", counts{Ready: 4, Bytes: 4})
	f.finish(q, f.wantClaim(q, 3, "a", "b", "c"))
	f.wantFates(q, entries("f"))
}

func limitInFlight(f *fixture) {
	q := f.queue(store.Settings{MaxInFlight: 3})
	f.send(q, "a", "b", "c", "d", "e")
	f.equal("Claim below the bound: Ready", f.wantClaim(q, 2, "a", "b").Ready, true)
	f.equal("Claim up to the bound: Ready", f.wantClaim(q, 10, "c").Ready, false)
	r := f.wantClaim(q, 10)
	f.wantDue("Claim at the bound", r.NextDue, lease)
	f.wantCounts(q, "at the bound", counts{Ready: 2, Leased: 3, Bytes: 5})
}

func limitInFlightFreed(f *fixture) {
	for name, free := range map[string]func(q store.QueueID, r store.ClaimResult){
		"an ack":         func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Done, 0)...) },
		"a reject":       func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Dead, 0)...) },
		"a backoff":      func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Ready, time.Hour)...) },
		"a shorter end":  func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Leased, 0)...) },
		"the lease end":  func(store.QueueID, store.ClaimResult) { f.clock.Advance(lease) },
		"a purge of one": func(q store.QueueID, _ store.ClaimResult) { f.purge(q, store.Selection{UpTo: 1}) },
	} {
		q := f.queue(store.Settings{MaxInFlight: 1})
		f.send(q, "a", "b")
		r := f.wantClaim(q, 10, "a")
		f.wantClaim(q, 10)
		free(q, r)
		if got := f.claim(q, 10); len(got.Messages) != 1 {
			f.Errorf("Claim after %s freed the only place in flight: got %q, want one message", name, bodies(got))
		}
	}
}

func limitGroupInFlight(f *fixture) {
	q := f.queue(store.Settings{Mode: store.Fair, GroupInFlight: 2})
	f.sendGroup(q, "x", "x1", "x2", "x3", "x4")
	f.sendGroup(q, "y", "y1")
	r := f.wantClaim(q, 10, "x1", "y1", "x2")
	f.equal("Claim up to the bound of the group: Ready", r.Ready, false)
	f.wantClaim(q, 10)
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Settled)
	f.wantClaim(q, 10, "x3")
}

func limitGroupFair(f *fixture) {
	q := f.queue(store.Settings{GroupInFlight: 2})
	f.sendGroup(q, "x", "x1", "x2", "x3")
	f.sendGroup(q, "y", "y1")
	f.wantClaim(q, 2, "x1", "y1")
	f.wantClaim(q, 2, "x2")
}

func limitGroupModes(f *fixture) {
	for _, mode := range []store.Mode{store.Standard, store.Fair, store.FIFO} {
		q := f.queue(store.Settings{Mode: mode, GroupInFlight: 1})
		f.sendGroup(q, "x", "x1", "x2")
		f.sendGroup(q, "y", "y1")
		r := f.wantClaim(q, 10, "x1", "y1")
		f.finish(q, r)
		if got := bodies(f.claim(q, 10)); len(got) != 1 || got[0] != "x2" {
			f.Errorf("Claim from a queue of mode %d after both were acknowledged: got %q, want x2", mode, got)
		}
	}
}

func limitInFlightChanged(f *fixture) {
	q := f.queue(store.Settings{MaxInFlight: 1})
	f.send(q, "a", "b", "c", "d")
	f.wantClaim(q, 10, "a")
	f.configure(q, store.Settings{MaxInFlight: 3})
	r := f.wantClaim(q, 10, "b", "c")
	f.configure(q, store.Settings{MaxInFlight: 2})
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Settled)
	f.wantClaim(q, 10)
	f.wantSettle(q, items(r, store.Done, 0)[1], store.Settled)
	f.wantClaim(q, 10, "d")
	f.wantCounts(q, "at the bound", counts{Leased: 2, Bytes: 2})
}
