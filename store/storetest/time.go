package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// timeCases: queue time never runs backwards, whatever the wall clock does. A backend without a clock of its own stands
// still until the wall clock has caught up, so after a jump back these cases only expect what must not happen.
var timeCases = []testCase{
	{"does not run back", timeBack},
	{"does not end a lease early after a jump back", timeBackLease},
	{"does not forget what is ready after a jump back", timeBackReady},
	{"goes on after a jump back", timeBackGoesOn},
	{"goes on after a jump forward", timeForward},
	{"may be longer than the clock can count", timeFar},
	{"is finer than a second", timeFine},
}

func timeBack(f *fixture) {
	q := f.queue(store.Settings{})
	var last store.Instant
	for _, jump := range []time.Duration{0, -time.Hour, time.Second, time.Hour, -2 * time.Hour, 3 * time.Hour} {
		f.clock.Jump(jump)
		r := f.send(q, "a")
		at := f.store.Clock().Instant(r.SentAt)
		if at < last {
			f.Fatalf("Send after a jump of %v: got sent at %v, want not before %v", jump, at, last)
		}
		last = at
		c := f.claimFor(q, 1, 0)
		if ends := f.store.Clock().Instant(c.Deadline); ends < last {
			f.Fatalf("Claim after a jump of %v: got deadline %v, want not before %v", jump, ends, last)
		}
		f.settle(q, items(c, store.Done, 0)...)
	}
}

func timeBackLease(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.sendEntries(q, delayed("b", time.Minute))
	i := items(f.claimFor(q, 1, time.Minute), store.Done, 0)[0]
	f.clock.Advance(time.Second)
	f.clock.Jump(-time.Hour)
	f.wantCounts(q, "after a jump back", counts{Leased: 1, Delayed: 1, Bytes: 2})
	f.clock.Advance(58 * time.Second)
	f.wantClaim(q, 2)
	f.wantStrict(q, i, store.Settled)
}

func timeBackReady(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.sendEntries(q, delayed("b", time.Second))
	f.clock.Advance(time.Second)
	f.wantCounts(q, "before a jump back", counts{Ready: 2, Bytes: 2})
	f.clock.Jump(-time.Hour)
	f.wantCounts(q, "after a jump back", counts{Ready: 2, Bytes: 2})
	f.wantClaim(q, 2, "a", "b")
}

func timeBackGoesOn(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.wantClaim(q, 1, "a")
	f.clock.Jump(-time.Hour)
	f.sendEntries(q, delayed("b", time.Minute))
	f.clock.Advance(time.Hour + time.Minute)
	f.wantClaim(q, 2, "a", "b")
}

func timeForward(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.claimFor(q, 1, 2*time.Hour), store.Leased, time.Minute)[0]
	f.clock.Jump(time.Hour)
	f.wantStrict(q, i, store.Settled)
	f.clock.Advance(time.Minute)
	f.wantClaim(q, 1, "a")
}

func timeFar(f *fixture) {
	q := f.queue(store.Settings{Retention: 200 * 365 * 24 * time.Hour})
	far := 100 * 365 * 24 * time.Hour
	f.sendEntries(q, delayed("a", far), entry("b"))
	r := f.claimFor(q, 1, far)
	f.equal("Claim with a lease of a century", bodies(r), []string{"b"})
	f.clock.Advance(far - time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "b", "a")
}

func timeFine(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("a", 3*time.Millisecond), delayed("b", 500*time.Microsecond))
	f.wantClaim(q, 2) // never early, at most rounded up
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "b")
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 2, "a")
}
