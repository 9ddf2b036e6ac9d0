package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// priorityCases: what matters more comes first, and with ageing nothing waits for ever.
var priorityCases = []testCase{
	{"offer the highest level first", priorityHighest},
	{"offer the oldest of a level first", priorityOldest},
	{"are the highest there is when above it", priorityAbove},
	{"do nothing on a queue without levels", priorityNone},
	{"are kept over a lease and a backoff", priorityReturned},
	{"are shown", priorityShown},
	{"count when a delay ends", priorityDelayed},
	{"let the low wait without ageing", priorityStarves},
	{"rise with age", priorityAgeing},
	{"rise to the highest level only", priorityAgeingTop},
	{"rise from when a message became available", priorityAgeingDelayed},
	{"do not hide the oldest age", priorityOldestAge},
}

// levels is a new queue with priorities.
func (f *fixture) levels(n uint8, ageing time.Duration) store.QueueID {
	f.Helper()
	return f.queue(store.Settings{Levels: n, Ageing: ageing})
}

func priorityHighest(f *fixture) {
	q := f.levels(10, 0)
	f.sendEntries(q, prioritized("0", 0), prioritized("9", 9), prioritized("4", 4), prioritized("5", 5))
	f.wantClaim(q, 2, "9", "5")
	f.sendEntries(q, prioritized("7", 7))
	f.wantClaim(q, 10, "7", "4", "0")
}

func priorityOldest(f *fixture) {
	q := f.levels(3, 0)
	for _, e := range []store.Entry{
		prioritized("low 1", 0), prioritized("high 1", 2), prioritized("low 2", 0), prioritized("middle", 1), prioritized("high 2", 2),
	} {
		f.sendEntries(q, e)
		f.clock.Advance(time.Second)
	}
	f.wantClaim(q, 10, "high 1", "high 2", "middle", "low 1", "low 2")
}

func priorityAbove(f *fixture) {
	q := f.levels(3, 0)
	f.sendEntries(q, prioritized("1", 1), prioritized("2", 2), prioritized("9", 9), prioritized("2 again", 2))
	f.wantClaim(q, 10, "2", "9", "2 again", "1")
}

func priorityNone(f *fixture) {
	for _, n := range []uint8{0, 1} {
		q := f.levels(n, 0)
		f.sendEntries(q, prioritized("a", 0), prioritized("b", 9), prioritized("c", 1))
		f.wantClaim(q, 10, "a", "b", "c")
	}
}

func priorityReturned(f *fixture) {
	q := f.levels(3, 0)
	f.sendEntries(q, prioritized("low", 0), prioritized("high", 2), prioritized("middle", 1))
	r := f.wantClaim(q, 2, "high", "middle")
	f.wantSettle(q, items(r, store.Ready, time.Minute)[0], store.Settled)
	f.clock.Advance(time.Minute) // and a lease ended, too
	f.wantClaim(q, 10, "high", "middle", "low")
}

func priorityShown(f *fixture) {
	q := f.levels(10, 0)
	f.sendEntries(q, prioritized("a", 3), prioritized("b", 0))
	r := f.wantClaim(q, 2, "a", "b")
	f.equal("Claim: priorities", []uint8{r.Messages[0].Priority, r.Messages[1].Priority}, []uint8{3, 0})
}

func priorityDelayed(f *fixture) {
	q := f.levels(3, 0)
	e := delayed("high", time.Second)
	e.Priority = 2
	f.sendEntries(q, e, prioritized("low", 0))
	f.clock.Advance(time.Second)
	f.wantClaim(q, 2, "high", "low")
}

func priorityStarves(f *fixture) {
	q := f.levels(2, 0)
	f.sendEntries(q, prioritized("low", 0))
	f.clock.Advance(24 * time.Hour)
	f.sendEntries(q, prioritized("high", 1))
	f.wantClaim(q, 1, "high")
}

// A low one never starves.
func priorityAgeing(f *fixture) {
	q := f.levels(3, time.Minute)
	f.sendEntries(q, prioritized("low", 0))
	f.clock.Advance(time.Minute - time.Second)
	f.sendEntries(q, prioritized("middle", 1))
	f.finish(q, f.wantClaim(q, 1, "middle"))
	f.clock.Advance(2 * time.Second)
	f.sendEntries(q, prioritized("middle", 1), prioritized("high", 2))
	f.wantClaim(q, 10, "high", "low", "middle") // as high as the middle by now, and older
}

func priorityAgeingTop(f *fixture) {
	q := f.levels(3, time.Minute)
	f.sendEntries(q, prioritized("high", 2))
	f.clock.Advance(time.Second)
	f.sendEntries(q, prioritized("low", 0))
	f.clock.Advance(time.Hour)
	f.sendEntries(q, prioritized("new", 2))
	f.wantClaim(q, 10, "high", "low", "new")
}

func priorityAgeingDelayed(f *fixture) {
	q := f.levels(2, time.Minute)
	f.sendEntries(q, delayed("low", time.Hour))
	f.clock.Advance(time.Hour + time.Minute - time.Second)
	f.sendEntries(q, prioritized("high", 1))
	f.wantClaim(q, 1, "high")
	f.clock.Advance(2 * time.Second)
	f.sendEntries(q, prioritized("new", 1))
	f.wantClaim(q, 2, "low", "new")
}

func priorityOldestAge(f *fixture) {
	q := f.levels(3, 0)
	f.sendEntries(q, prioritized("low", 0))
	f.clock.Advance(10 * time.Second)
	f.sendEntries(q, prioritized("high", 2))
	f.clock.Advance(5 * time.Second)
	f.wantAge(q, "with an old message of a low level", 15*time.Second)
	f.wantClaim(q, 1, "high")
	f.wantAge(q, "with the high one leased", 15*time.Second)
}
