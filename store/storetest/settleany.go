package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// settleAnyCases are about AnyToken, with which a message is named by its sequence alone.
var settleAnyCases = []testCase{
	{"done removes in every state", settleAnyDone},
	{"dead makes dead in every state", settleAnyDead},
	{"ready reschedules what is delayed", settleAnyReschedule},
	{"ready makes what is delayed due at once", settleAnyNow},
	{"ready delays what is ready", settleAnyDelay},
	{"ready reschedules a backoff", settleAnyBackoff},
	{"ready does not change what is leased or dead", settleAnyHeld},
	{"leased moves the end of a lease", settleAnyLeased},
	{"leased extends nothing that is not leased", settleAnyNotLeased},
	{"of what is not there is gone", settleAnyGone},
	{"of what was moved is lost", settleAnyMoved},
	{"ends the lease of a holder", settleAnyHolder},
	{"frees a group", settleAnyFIFO},
	{"works when strict", settleAnyStrict},
	{"leaves no token that works", settleAnyForged},
	{"may be mixed with receipts", settleAnyMixed},
	{"keeps the place of a delayed message in its group", settleAnyFIFODelay},
}

// anyone settles a message whatever its state.
func anyone(seq store.Seq, target store.Target, after time.Duration) store.SettleItem {
	return item(seq, store.AnyToken, target, after)
}

// inEachState is a new queue with a leased, a backing off, a dead, a delayed and a ready message, of sequences 1 to 5.
func (f *fixture) inEachState(s store.Settings) (store.QueueID, store.ClaimResult) {
	f.Helper()
	q := f.queue(s)
	f.send(q, "leased", "backing off", "dead")
	r := f.wantClaim(q, 3, "leased", "backing off", "dead")
	f.settle(q, items(r, store.Ready, time.Hour)[1], items(r, store.Dead, 0)[2])
	f.sendEntries(q, delayed("delayed", time.Hour), entry("ready"))
	f.wantCounts(q, "with a message in each state", counts{Ready: 1, Leased: 1, Delayed: 2, Dead: 1, Bytes: 33})
	return q, r
}

func settleAnyDone(f *fixture) {
	q, r := f.inEachState(store.Settings{})
	for seq := store.Seq(1); seq <= 5; seq++ {
		f.wantSettle(q, anyone(seq, store.Done, 0), store.Settled)
		f.wantSettle(q, anyone(seq, store.Done, 0), store.Gone)
	}
	f.wantCounts(q, "after all were removed", counts{})
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Gone)
}

func settleAnyDead(f *fixture) {
	q, r := f.inEachState(store.Settings{})
	for _, seq := range []store.Seq{1, 2, 4, 5} {
		i := anyone(seq, store.Dead, 0)
		i.Reason = fmt.Sprint("reason ", seq)
		f.wantSettle(q, i, store.Settled)
		f.equal("Lookup: Reason", f.lookup(q, q, seq).Reason, i.Reason)
	}
	f.wantCounts(q, "after all died", counts{Dead: 5, Bytes: 33})
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Lost)
}

func settleAnyReschedule(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("later", time.Hour), delayed("sooner", 3*time.Hour))
	f.wantSettle(q, anyone(1, store.Ready, 2*time.Hour), store.Settled)
	f.wantSettle(q, anyone(2, store.Ready, time.Minute), store.Settled)
	f.clock.Advance(time.Minute - time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	f.finish(q, f.wantClaim(q, 2, "sooner"))
	f.clock.Advance(2*time.Hour - time.Minute - time.Millisecond)
	f.wantClaim(q, 2)
	f.clock.Advance(time.Millisecond)
	r := f.wantClaim(q, 2, "later")
	f.equal("Claim of a rescheduled message: Receives", r.Messages[0].Receives, uint32(1))
}

func settleAnyNow(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("a", time.Hour))
	f.wantSettle(q, anyone(1, store.Ready, 0), store.Settled)
	f.wantClaim(q, 1, "a")
}

func settleAnyDelay(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.wantSettle(q, anyone(1, store.Ready, time.Minute), store.Settled)
	f.wantCounts(q, "after a ready message was delayed", counts{Delayed: 1, Bytes: 1})
	f.clock.Advance(time.Minute - time.Millisecond)
	f.wantClaim(q, 1)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 1, "a")
}

func settleAnyBackoff(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Ready, time.Hour)...)
	f.wantSettle(q, anyone(1, store.Ready, time.Second), store.Settled)
	f.clock.Advance(time.Second)
	f.wantClaim(q, 1, "a")
}

func settleAnyHeld(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	before := f.stats(q)
	for _, seq := range []store.Seq{1, 3} {
		f.wantSettle(q, anyone(seq, store.Ready, time.Minute), store.Lost)
	}
	f.equal("Stats after nothing was changed", f.stats(q), before)
}

func settleAnyLeased(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "longer", "shorter")
	r := f.wantClaim(q, 2, "longer", "shorter")
	f.wantSettle(q, anyone(1, store.Leased, 2*lease), store.Settled)
	f.wantSettle(q, anyone(2, store.Leased, 0), store.Settled)
	f.finish(q, f.wantClaim(q, 2, "shorter"))
	f.clock.Advance(2*lease - time.Millisecond)
	f.wantStrict(q, items(r, store.Done, 0)[0], store.Settled)
}

func settleAnyNotLeased(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	before := f.stats(q)
	for seq := store.Seq(2); seq <= 5; seq++ {
		f.wantSettle(q, anyone(seq, store.Leased, time.Minute), store.Lost)
	}
	f.equal("Stats after nothing was changed", f.stats(q), before)
}

func settleAnyGone(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.finish(q, f.wantClaim(q, 1, "a"))
	for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
		for _, seq := range []store.Seq{0, 1, 2, 1 << 60} {
			f.wantSettle(q, anyone(seq, target, time.Minute), store.Gone)
		}
	}
}

func settleAnyMoved(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(q, "", "a")
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
	f.wantSettle(q, anyone(1, store.Done, 0), store.Lost)
	f.wantClaim(target, 1, "a")
}

// Who held the message is told when they come.
func settleAnyHolder(f *fixture) {
	for _, target := range []store.Target{store.Done, store.Dead} {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		r := f.wantClaim(q, 1, "a")
		f.wantSettle(q, anyone(1, target, 0), store.Settled)
		want := store.Gone
		if target == store.Dead {
			want = store.Lost
		}
		for _, late := range []store.Target{store.Leased, store.Ready, store.Done} {
			f.wantSettle(q, items(r, late, time.Minute)[0], want)
		}
	}
}

func settleAnyFIFO(f *fixture) {
	for _, target := range []store.Target{store.Done, store.Dead} {
		q := f.fifo()
		f.send(q, "leased", "a")
		f.wantClaim(q, 1, "leased")
		f.wantSettle(q, anyone(1, target, 0), store.Settled)
		f.settle(q, items(f.wantClaim(q, 1, "a"), store.Ready, time.Hour)...)
		f.send(q, "b")
		f.wantClaim(q, 1)
		f.wantSettle(q, anyone(2, target, 0), store.Settled)
		f.wantClaim(q, 1, "b")
	}
}

func settleAnyStrict(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	for seq := store.Seq(1); seq <= 5; seq++ {
		f.wantStrict(q, anyone(seq, store.Done, 0), store.Settled)
	}
}

// A message that was never leased has no token, also after it was touched without one.
func settleAnyForged(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, delayed("delayed", time.Hour), entry("ready"))
	f.wantSettle(q, anyone(1, store.Ready, time.Minute), store.Settled)
	f.wantSettle(q, anyone(2, store.Ready, 0), store.Settled)
	for seq := store.Seq(1); seq <= 2; seq++ {
		for _, token := range []store.Token{0, 1, 1 << 52} {
			for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
				f.wantSettle(q, item(seq, token, target, 0), store.Lost)
			}
		}
	}
	f.wantCounts(q, "after forged tokens", counts{Ready: 1, Delayed: 1, Bytes: 12})
}

func settleAnyMixed(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	list := []store.SettleItem{
		anyone(1, store.Dead, 0),
		item(1, r.Token, store.Done, 0),
		item(2, r.Token, store.Done, 0),
		anyone(2, store.Done, 0),
		anyone(3, store.Done, 0),
	}
	want := []store.Outcome{store.Settled, store.Lost, store.Settled, store.Gone, store.Settled}
	f.equal(fmt.Sprintf("Settle(%+v)", list), f.settle(q, list...).Outcomes, want)
	f.wantCounts(q, "after a mixed batch", counts{Dead: 1, Bytes: 1})
}

func settleAnyFIFODelay(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, delayed("a", time.Hour), entry("b"), entry("c"))
	f.wantSettle(q, anyone(1, store.Ready, time.Second), store.Settled)
	f.finish(q, f.wantClaim(q, 1, "b")) // what was never delivered locks nothing
	f.clock.Advance(time.Second)
	f.wantClaim(q, 3, "a", "c")
}
