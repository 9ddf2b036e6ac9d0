package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// dueCases are about NextDue: how long until time alone changes the queue.
var dueCases = []testCase{
	{"is that of the next delay to end", dueDelay},
	{"is that of the next lease to end", dueLease},
	{"is that of a backoff", dueBackoff},
	{"is the earliest of all", dueEarliest},
	{"is never when nothing is due", dueNever},
	{"is that of retention", dueRetention},
	{"is that of retention in flight", dueRetentionInFlight},
	{"is that of a time to live", dueTTL},
	{"is given by each call alike", dueAlike},
	{"is zero or more", dueNotNegative},
	{"is far away for a message of the year 9999", dueFar},
}

func (f *fixture) wantDue(call string, got, want time.Duration) {
	f.Helper()
	f.equal(call+".NextDue", got, want)
}

func dueDelay(f *fixture) {
	q := f.queue(store.Settings{})
	r := f.sendEntries(q, delayed("a", 7*time.Second))
	f.wantDue("Send(delay 7s)", r.NextDue, 7*time.Second)
	f.clock.Advance(3 * time.Second)
	r = f.sendEntries(q, delayed("b", 2*time.Second))
	f.wantDue("Send(delay 2s)", r.NextDue, 2*time.Second)
	f.clock.Advance(2 * time.Second)
	f.wantDue("Stats", f.stats(q).NextDue, 2*time.Second)
	f.clock.Advance(2 * time.Second)
	f.wantDue("Stats", f.stats(q).NextDue, store.NoDue)
}

func dueLease(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	f.wantDue("Claim(visibility 9s)", f.claimFor(q, 1, 9*time.Second).NextDue, 9*time.Second)
	f.clock.Advance(time.Second)
	r := f.claimFor(q, 1, 3*time.Second)
	f.wantDue("Claim(visibility 3s)", r.NextDue, 3*time.Second)
	f.wantDue("Settle(done)", f.settle(q, items(r, store.Done, 0)...).NextDue, 8*time.Second)
}

func dueBackoff(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r := f.claim(q, 1)
	f.wantDue("Settle(leased, 5s)", f.settle(q, items(r, store.Leased, 5*time.Second)...).NextDue, 5*time.Second)
	f.wantDue("Settle(ready, 4s)", f.settle(q, items(r, store.Ready, 4*time.Second)...).NextDue, 4*time.Second)
	f.clock.Advance(time.Second)
	f.wantDue("Claim of nothing", f.claim(q, 1).NextDue, 3*time.Second)
}

func dueEarliest(f *fixture) {
	q := f.queue(store.Settings{})
	for _, d := range []time.Duration{5, 3, 9, 1, 7} {
		f.sendEntries(q, delayed("", d*time.Second))
	}
	for range 5 {
		s := f.stats(q)
		if s.NextDue > 2*time.Second {
			f.Fatalf("Stats: got next due %v with a message due every 2 s", s.NextDue)
		}
		f.clock.Advance(s.NextDue - time.Millisecond)
		f.equal("Stats a millisecond before: Ready", f.stats(q).Ready, s.Ready)
		f.clock.Advance(time.Millisecond)
		f.equal("Stats when due: Ready", f.stats(q).Ready, s.Ready+1)
	}
	f.wantDue("Stats", f.stats(q).NextDue, store.NoDue)
}

func dueNever(f *fixture) {
	q := f.queue(store.Settings{})
	f.wantDue("Send", f.send(q, "a", "b").NextDue, store.NoDue)
	f.bury(f.queue(store.Settings{}), "", "x") // another queue's business
	r := f.wantClaim(q, 1, "a")
	f.wantDue("Settle(dead)", f.settle(q, items(r, store.Dead, 0)...).NextDue, store.NoDue)
	f.wantDue("Sweep", f.sweep(q).NextDue, store.NoDue)
}

// Retention may be told in ticks, but waiting for it and sweeping must remove what is due, or nobody ever does.
func dueRetention(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	due := f.send(q, "a").NextDue
	if due < retention || due > retention+time.Second {
		f.Fatalf("Send(retention 1h).NextDue: got %v, want that within a second", due)
	}
	f.clock.Advance(due - time.Second)
	f.equal("Sweep a second before: Expired", f.sweep(q).Expired, 0)
	f.clock.Advance(time.Second)
	r := f.sweep(q)
	f.equal("Sweep when due: Expired", r.Expired, 1)
	f.wantDue("Sweep when due", r.NextDue, store.NoDue)
	f.bury(q, "", "b")
	if due = f.stats(q).NextDue; due < retention || due > retention+time.Second {
		f.Fatalf("Stats of a dead message (retention 1h).NextDue: got %v, want that within a second", due)
	}
}

func dueRetentionInFlight(f *fixture) {
	q := f.queue(store.Settings{Retention: retention})
	f.send(q, "a")
	due := f.claimFor(q, 1, 2*retention).NextDue
	if due < retention || due > retention+time.Second {
		f.Fatalf("Claim(retention 1h, visibility 2h).NextDue: got %v, want 1h within a second", due)
	}
	f.clock.Advance(due)
	f.equal("Sweep when due: Expired", f.sweep(q).Expired, 1)
}

func dueTTL(f *fixture) {
	q := f.queue(store.Settings{})
	due := f.sendEntries(q, lasting("a", time.Minute)).NextDue
	if due < time.Minute || due > time.Minute+time.Second {
		f.Fatalf("Send(time to live 1m).NextDue: got %v, want that within a second", due)
	}
	f.clock.Advance(due)
	r := f.sweep(q)
	f.equal("Sweep when due: Expired", r.Expired, 1)
	f.wantDue("Sweep when due", r.NextDue, store.NoDue)
}

func dueAlike(f *fixture) {
	q, source := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(source, "", "dead")
	f.sendEntries(source, delayed("x", time.Second))
	f.sendEntries(q, delayed("a", time.Minute))
	f.clock.Advance(10 * time.Second)
	const want = 50 * time.Second
	f.wantDue("Stats", f.stats(q).NextDue, want)
	f.wantDue("Send", f.send(q, "b").NextDue, want)
	f.wantDue("Sweep", f.sweep(q).NextDue, want)
	r := f.claimFor(q, 1, time.Hour)
	f.wantDue("Claim", r.NextDue, want)
	f.wantDue("Settle", f.settle(q, items(r, store.Ready, 0)...).NextDue, want)
	f.wantDue("Move", f.move(store.MoveParams{Source: source, Target: q, Select: theDead, Limit: 1}).NextDue, want)
}

func dueNotNegative(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 2, Retention: retention})
	f.send(q, "a", "b")
	f.claim(q, 1)
	f.clock.Advance(2 * retention)
	for call, got := range map[string]time.Duration{
		"Stats": f.stats(q).NextDue,
		"Send":  f.send(q, "c").NextDue,
		"Claim": f.claim(q, 3).NextDue,
		"Sweep": f.sweep(q).NextDue,
	} {
		if got < 0 {
			f.Errorf("%s.NextDue long after something was due: got %v, want zero or more", call, got)
		}
	}
}

func dueFar(f *fixture) {
	q := f.queue(store.Settings{})
	r := f.sendEntries(q, store.Entry{Payload: []byte("a"), NotBefore: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)})
	for call, due := range map[string]time.Duration{"Send": r.NextDue, "Stats": f.stats(q).NextDue} {
		if due < 200*365*24*time.Hour {
			f.Errorf("%s of a message of the year 9999: got next due %v", call, due)
		}
	}
	f.clock.Advance(100 * 365 * 24 * time.Hour)
	f.wantClaim(q, 1)
	f.wantCounts(q, "before the year 9999", counts{Delayed: 1})
}
