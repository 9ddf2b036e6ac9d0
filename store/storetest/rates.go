package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// rateCases are about how often a queue and its groups give something.
var rateCases = []testCase{
	{"allow a second's worth at once, or one", rateBurst},
	{"say when there is more", rateDue},
	{"allow no more after a long rest", rateRest},
	{"count deliveries that are repeated", rateRedeliveries},
	{"hold over many claims", rateSteady},
	{"of groups pass over a group and serve others", rateGroups},
	{"of groups are forgotten with the group", rateGroupForgotten},
	{"of groups apply in each mode", rateGroupModes},
	{"change with the settings", rateChanged},
}

func rateBurst(f *fixture) {
	for _, c := range []struct {
		interval time.Duration
		burst    int
		next     time.Duration // until one more
	}{
		{100 * time.Millisecond, 10, 100 * time.Millisecond},
		{300 * time.Millisecond, 3, 200 * time.Millisecond},
		{time.Second, 1, time.Second},
		{5 * time.Second, 1, 5 * time.Second},
		{10 * time.Millisecond, 100, 10 * time.Millisecond},
	} {
		q := f.queue(store.Settings{Interval: c.interval})
		f.sendEntries(q, make([]store.Entry, 150)...)
		call := fmt.Sprintf("Claim with an interval of %v", c.interval)
		f.equal(call, len(f.claim(q, 150).Messages), c.burst)
		f.equal(call+", again at once", len(f.claim(q, 150).Messages), 0)
		f.clock.Advance(c.next - time.Millisecond)
		f.equal(call+", a millisecond early", len(f.claim(q, 150).Messages), 0)
		f.clock.Advance(time.Millisecond)
		f.equal(call+", in time", len(f.claim(q, 150).Messages), 1)
	}
}

func rateDue(f *fixture) {
	q := f.queue(store.Settings{Interval: 5 * time.Second})
	f.send(q, "a", "b")
	r := f.wantClaim(q, 2, "a")
	f.equal("Claim up to the rate: Ready", r.Ready, false)
	f.wantDue("Claim up to the rate", r.NextDue, 5*time.Second)
	f.clock.Advance(2 * time.Second)
	f.wantDue("Claim of nothing", f.wantClaim(q, 2).NextDue, 3*time.Second)
	f.wantDue("Stats", f.stats(q).NextDue, 3*time.Second)
}

func rateRest(f *fixture) {
	q := f.queue(store.Settings{Interval: 250 * time.Millisecond})
	f.send(q, "a", "b", "c", "d", "e", "f", "g")
	f.finish(q, f.wantClaim(q, 1, "a"))
	f.clock.Advance(time.Hour)
	f.wantClaim(q, 10, "b", "c", "d", "e")
}

func rateRedeliveries(f *fixture) {
	q := f.queue(store.Settings{Interval: 5 * time.Second})
	f.send(q, "a")
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Ready, 0)...)
	f.wantClaim(q, 1)
	f.clock.Advance(5 * time.Second)
	f.wantClaim(q, 1, "a")
}

func rateSteady(f *fixture) {
	q := f.queue(store.Settings{Interval: 200 * time.Millisecond})
	f.sendEntries(q, make([]store.Entry, 100)...)
	got := 0
	for range 100 {
		got += len(f.claim(q, 2).Messages)
		f.clock.Advance(70 * time.Millisecond)
	}
	// 99 × 70 ms after the first claim, with a second's worth ahead.
	f.equal("messages within 6.93 s at five a second", got, 5+6930/200)
}

func rateGroups(f *fixture) {
	q := f.queue(store.Settings{GroupInterval: 10 * time.Second})
	f.sendGroup(q, "x", "x1", "x2")
	f.sendGroup(q, "y", "y1", "y2")
	r := f.wantClaim(q, 10, "x1", "y1")
	f.equal("Claim up to the rate of both groups: Ready", r.Ready, false)
	f.sendGroup(q, "z", "z1")
	f.clock.Advance(5 * time.Second)
	f.wantClaim(q, 10, "z1")
	f.wantDue("Stats", f.stats(q).NextDue, 5*time.Second)
	f.clock.Advance(5 * time.Second)
	f.wantClaim(q, 10, "x2", "y2")
}

func rateGroupForgotten(f *fixture) {
	q := f.queue(store.Settings{GroupInterval: 10 * time.Second})
	f.sendGroup(q, "x", "x1")
	r := f.wantClaim(q, 1, "x1")
	f.sendGroup(q, "x", "x2")
	f.wantClaim(q, 1)
	f.finish(q, r)
	f.wantClaim(q, 1)
	f.clock.Advance(10 * time.Second)
	f.finish(q, f.wantClaim(q, 1, "x2"))
	f.sendGroup(q, "x", "x3")
	f.wantClaim(q, 1, "x3")
}

func rateGroupModes(f *fixture) {
	for _, mode := range []store.Mode{store.Standard, store.Fair, store.FIFO} {
		q := f.queue(store.Settings{Mode: mode, GroupInterval: 2 * time.Second})
		f.sendGroup(q, "x", "x1", "x2")
		f.sendGroup(q, "y", "y1")
		f.finish(q, f.wantClaim(q, 10, "x1", "y1"))
		f.wantClaim(q, 10)
		f.clock.Advance(2 * time.Second)
		f.wantClaim(q, 10, "x2")
	}
}

func rateChanged(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c", "d")
	f.wantClaim(q, 1, "a")
	f.configure(q, store.Settings{Interval: time.Minute})
	f.wantClaim(q, 10, "b")
	f.configure(q, store.Settings{})
	f.wantClaim(q, 10, "c", "d")
}
