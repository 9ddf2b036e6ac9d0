package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var sweepCases = []testCase{
	{"removes what is past retention", sweepRetention},
	{"keeps what never was available", sweepKeepsDelayed},
	{"ends leases and backoffs", sweepInFlight},
	{"keeps what is in flight until then", sweepKeepsHeld},
	{"frees the group of what was in flight", sweepFreesGroup},
	{"counts retention from when a delay ended", sweepFromAvailability},
	{"removes the dead past retention", sweepDead},
	{"keeps all without retention", sweepForEver},
	{"removes up to a thousand a call", sweepThousand},
	{"is not needed for a claim to pass the expired", sweepUnneeded},
	{"says what it found", sweepFound},
	{"follows a change of retention", sweepNewRetention},
	{"refuses an unknown queue", sweepRefuses},
}

// A backend may keep ages in ticks, so these cases stay a second away from the moment itself.
const retention = time.Hour

func sweepRetention(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.send(q, "a", "b")
	f.clock.Advance(time.Minute)
	f.send(q, "c")
	f.clock.Advance(retention - time.Minute - time.Second)
	f.equal("Sweep before retention: Expired", f.sweep(q).Expired, 0)
	f.wantCounts(q, "before retention", counts{Ready: 3, Bytes: 3})
	f.clock.Advance(2 * time.Second)
	f.equal("Sweep after retention: Expired", f.sweep(q).Expired, 2)
	f.wantCounts(q, "after retention", counts{Ready: 1, Bytes: 1})
	f.equal("another Sweep: Expired", f.sweep(q).Expired, 0)
	f.wantClaim(q, 3, "c")
}

func sweepKeepsDelayed(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.sendEntries(q, delayed("a", 3*retention))
	f.clock.Advance(3*retention - time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 0)
	f.wantCounts(q, "past retention", counts{Delayed: 1, Bytes: 1})
	f.clock.Advance(time.Second)
	f.wantClaim(q, 1, "a")
}

// A message does not outlive its retention in flight.
func sweepInFlight(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.send(q, "leased", "extended", "backing off")
	r := f.claimFor(q, 3, 5*retention)
	f.settle(q, items(r, store.Leased, 9*retention)[1], items(r, store.Ready, 5*retention)[2])
	f.clock.Advance(retention + time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 3)
	f.wantCounts(q, "past retention", counts{})
	for _, i := range items(r, store.Done, 0) {
		f.wantSettle(q, i, store.Gone)
	}
}

func sweepKeepsHeld(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.send(q, "a", "b")
	r := f.claimFor(q, 2, 2*retention)
	f.settle(q, items(r, store.Ready, 2*retention)[1])
	f.clock.Advance(retention - time.Second)
	f.equal("Sweep before retention: Expired", f.sweep(q).Expired, 0)
	f.wantCounts(q, "before retention", counts{Leased: 1, Delayed: 1, Bytes: 2})
	f.wantStrict(q, items(r, store.Done, 0)[0], store.Settled)
}

func sweepFreesGroup(f *fixture) {
	q := f.queue(store.Settings{Mode: store.FIFO, Retention: retention})
	f.sendGroup(q, "g", "a", "b")
	r := f.claimFor(q, 2, 5*retention)
	f.settle(q, items(r, store.Ready, 5*retention)[1])
	f.clock.Advance(retention / 2)
	f.sendGroup(q, "g", "c")
	f.wantClaim(q, 1)
	f.clock.Advance(retention/2 + time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 2)
	f.wantClaim(q, 3, "c")
}

func sweepFromAvailability(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.sendEntries(q, delayed("a", retention))
	f.clock.Advance(2*retention - time.Second)
	f.equal("Sweep before retention: Expired", f.sweep(q).Expired, 0)
	f.clock.Advance(2 * time.Second)
	f.equal("Sweep after retention: Expired", f.sweep(q).Expired, 1)
}

func sweepDead(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.bury(q, "", "a")
	f.clock.Advance(retention / 2)
	f.bury(q, "", "b")
	f.clock.Advance(retention/2 + time.Second)
	f.equal("Sweep: Expired", f.sweep(q).Expired, 1)
	f.wantCounts(q, "past retention of one", counts{Dead: 1, Bytes: 1})
}

func sweepForEver(f *fixture) {
	q := f.queue(store.Settings{})
	f.bury(q, "", "a")
	f.send(q, "b")
	f.clock.Advance(100 * 365 * 24 * time.Hour)
	f.equal("Sweep after a century: Expired", f.sweep(q).Expired, 0)
	f.wantCounts(q, "after a century", counts{Ready: 1, Dead: 1, Bytes: 2})
}

func sweepThousand(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	list := make([]store.Entry, 500)
	for range 5 {
		f.sendEntries(q, list...)
	}
	f.clock.Advance(retention + time.Second)
	var expired int
	for calls := 1; expired < 2500; calls++ {
		n := f.sweep(q).Expired
		if n < 1 || n > 1000 {
			f.Fatalf("Sweep %d of 2,500 expired messages: got %d expired, want 1 to 1,000", calls, n)
		}
		expired += n
	}
	f.equal("expired altogether", expired, 2500)
	f.wantCounts(q, "after all sweeps", counts{})
}

func sweepUnneeded(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.send(q, "old")
	f.clock.Advance(retention + time.Second)
	f.send(q, "new")
	f.wantClaim(q, 2, "new")
}

func sweepFound(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.bury(q, "", "d1", "d2")
	f.send(q, "a", "b", "c", "d")
	f.wantClaim(q, 1, "a")
	f.clock.Advance(lease / 2)
	f.wantClaim(q, 1, "b")
	f.equal("Sweep while leases last", f.sweep(q), store.SweepResult{Ready: 2, Dead: 2, NextDue: lease / 2})
	f.clock.Advance(lease / 2)
	f.equal("Sweep when the last lease of one ended", f.sweep(q), store.SweepResult{Ready: 2, Dead: 3, NextDue: lease / 2})
	f.clock.Advance(lease / 2)
	f.equal("Sweep when that of the other ended", f.sweep(q), store.SweepResult{Ready: 2, Dead: 4, NextDue: store.NoDue})
}

func sweepNewRetention(f *fixture) {
	q := f.queue(store.Settings{})
	for i := range 3 {
		f.send(q, fmt.Sprint(i))
		f.clock.Advance(time.Hour)
	}
	f.configure(q, store.Settings{Retention: 90 * time.Minute})
	f.equal("Sweep under a new retention: Expired", f.sweep(q).Expired, 2)
	f.wantClaim(q, 3, "2")
}

func sweepRefuses(f *fixture) {
	_, err := f.store.Sweep(f.Context(), 404)
	f.wantError("Sweep of an unknown queue", err, store.ErrGone)
}
