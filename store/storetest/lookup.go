package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// lookupCases: one message, where it is and what happened to it.
var lookupCases = []testCase{
	{"finds a message by its sequence", lookupFinds},
	{"finds a moved message by its origin", lookupMoved},
	{"finds what came home", lookupHome},
	{"finds nothing that is not there", lookupNothing},
	{"tells of visits", lookupVisits},
	{"tells how the last delivery ended", lookupRejected},
	{"tells of the last fifteen visits", lookupManyVisits},
	{"says nothing of a delivery taken back", lookupUncounted},
	{"tells why it was last given back", lookupReason},
	{"forgets what was removed", lookupForgets},
	{"remembers what was removed when told to", lookupHistory},
	{"remembers how each was removed", lookupRemovals},
	{"remembers the latest", lookupHistoryBound},
	{"begins anew in another queue", lookupVisitsMoved},
	{"refuses an unknown queue", lookupRefuses},
}

func (f *fixture) lookup(q, origin store.QueueID, seq store.Seq) store.View {
	f.Helper()
	f.pause()
	v, err := f.store.Lookup(f.Context(), q, origin, seq)
	if err != nil {
		f.Fatalf("Lookup(%v, origin %v, seq %d) = %v, want nil", q, origin, seq, err)
	}
	return v
}

func (f *fixture) wantNotFound(q, origin store.QueueID, seq store.Seq) {
	f.Helper()
	f.pause()
	v, err := f.store.Lookup(f.Context(), q, origin, seq)
	f.wantError(fmt.Sprintf("Lookup(%v, origin %v, seq %d) = %+v", q, origin, seq, v), err, store.ErrNotFound)
}

func lookupFinds(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	for _, want := range f.scan(q, store.Selection{}, 10) {
		f.equal(fmt.Sprintf("Lookup(seq %d), beside Scan", want.Seq), f.lookup(q, q, want.Seq), want)
	}
}

func lookupMoved(f *fixture) {
	a, b, c := f.queue(store.Settings{}), f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(b, "other")
	f.bury(a, "", "m")
	f.move(store.MoveParams{Source: a, Target: b, Select: theDead, Limit: 1})
	v := f.lookup(b, a, 1)
	f.equal("Lookup by origin: Payload and Seq", []any{string(v.Payload), v.Seq}, []any{"m", store.Seq(2)})
	f.equal("Lookup of another with that sequence: Payload", string(f.lookup(b, b, 1).Payload), "other")
	f.wantNotFound(a, a, 1)
	f.settle(b, anyone(2, store.Dead, 0))
	f.move(store.MoveParams{Source: b, Target: c, Select: theDead, Limit: 1})
	f.equal("Lookup by the first origin: Payload", string(f.lookup(c, a, 1).Payload), "m")
	f.wantNotFound(b, a, 1)
	f.wantNotFound(c, b, 2)
}

func lookupHome(f *fixture) {
	a, b := f.queue(store.Settings{History: 10}), f.queue(store.Settings{})
	f.bury(a, "", "m")
	f.move(store.MoveParams{Source: a, Target: b, Select: theDead, Limit: 1})
	f.equal("Lookup of what went away: Removal", f.lookup(a, a, 1).Removal, store.MovedAway)
	f.bury(a, "", "other")
	f.settle(b, anyone(1, store.Dead, 0))
	f.move(store.MoveParams{Source: b, Target: a, Select: theDead, Limit: 1})
	v := f.lookup(a, a, 1)
	f.equal("Lookup of what came home: State, Seq and Payload", []any{v.State, v.Seq, string(v.Payload)},
		[]any{store.StateReady, store.Seq(3), "m"})
}

func lookupNothing(f *fixture) {
	q, other := f.queue(store.Settings{History: 10}), f.queue(store.Settings{})
	f.send(q, "a")
	for _, seq := range []store.Seq{0, 2, 1 << 60} {
		f.wantNotFound(q, q, seq)
	}
	f.wantNotFound(q, other, 1)
	f.wantNotFound(q, 404, 1)
	f.wantNotFound(other, q, 1)
}

// wantVisits looks a message up and expects these visits.
func (f *fixture) wantVisits(q store.QueueID, seq store.Seq, want ...store.Visit) {
	f.Helper()
	got := f.lookup(q, q, seq).Visits
	for i := range got {
		got[i].LeasedAt, got[i].EndedAt = got[i].LeasedAt.UTC(), got[i].EndedAt.UTC()
	}
	f.equal(fmt.Sprintf("Lookup(seq %d).Visits", seq), got, want)
}

func lookupVisits(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.wantVisits(q, 1)
	start := f.clock.Now()
	r := f.claimAs(q, 1, "one")
	f.wantVisits(q, 1)
	f.clock.Advance(time.Second)
	i := items(r, store.Ready, 5*time.Second)[0]
	i.Reason = "out of luck"
	f.wantSettle(q, i, store.Settled)
	first := store.Visit{
		LeasedAt: start, EndedAt: start.Add(time.Second), Consumer: "one", End: store.GivenBack, Reason: "out of luck",
	}
	f.wantVisits(q, 1, first)
	f.clock.Advance(5 * time.Second)
	r = f.claimAs(q, 1, "two")
	f.wantSettle(q, items(r, store.Leased, 10*time.Second)[0], store.Settled)
	f.clock.Advance(10 * time.Second)
	second := store.Visit{LeasedAt: start.Add(6 * time.Second), EndedAt: start.Add(16 * time.Second), Consumer: "two", End: store.RanOut}
	f.wantVisits(q, 1, first, second)
	f.clock.Advance(time.Minute)
	f.claimAs(q, 1, "three")
	f.wantVisits(q, 1, first, second)
}

func lookupRejected(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "rejected", "used up", "ran out")
	r := f.claimAs(q, 3, "one")
	at := r.Deadline.Add(-lease).UTC()
	for n, target := range []store.Target{store.Dead, store.Ready} {
		i := items(r, target, 0)[n]
		i.Reason = "why"
		f.settle(q, i)
		f.wantVisits(q, i.Seq, store.Visit{LeasedAt: at, EndedAt: at, Consumer: "one", End: store.Rejected, Reason: "why"})
	}
	f.clock.Advance(lease)
	f.wantVisits(q, 3, store.Visit{LeasedAt: at, EndedAt: at.Add(lease), Consumer: "one", End: store.RanOut})
	f.equal("Lookup of a message whose last lease ended: State", f.lookup(q, q, 3).State, store.StateDead)
}

func lookupManyVisits(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	for n := range 20 {
		r := f.claimAs(q, 1, fmt.Sprint("worker ", n))
		i := items(r, store.Ready, 0)[0]
		i.Reason = fmt.Sprint("reason ", n)
		f.wantSettle(q, i, store.Settled)
		f.clock.Advance(time.Second)
	}
	visits := f.lookup(q, q, 1).Visits
	f.equal("Lookup after twenty deliveries: number of visits", len(visits), 15)
	for i, v := range visits {
		n := i + 5
		f.equal(fmt.Sprintf("visit %d: Consumer and Reason", i), [2]string{v.Consumer, v.Reason},
			[2]string{fmt.Sprint("worker ", n), fmt.Sprint("reason ", n)})
		f.equal(fmt.Sprintf("visit %d: LeasedAt", i), v.LeasedAt.UTC(), epoch.Add(time.Duration(n)*time.Second))
	}
}

func lookupUncounted(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.claim(q, 1), store.Ready, 0)[0]
	i.Uncount = true
	f.wantSettle(q, i, store.Settled)
	f.wantVisits(q, 1)
}

func lookupReason(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	for _, reason := range []string{"first", strings.Repeat("long ", 200), "\x00 ü"} {
		i := items(f.claim(q, 1), store.Ready, 0)[0]
		i.Reason = reason
		f.wantSettle(q, i, store.Settled)
		f.equal("Lookup: Reason", f.lookup(q, q, 1).Reason, reason)
	}
}

func lookupForgets(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.finish(q, f.wantClaim(q, 1, "a"))
	f.wantNotFound(q, q, 1)
}

func lookupHistory(f *fixture) {
	q := f.queue(store.Settings{History: 10})
	f.send(q, "a")
	start := f.clock.Now()
	i := items(f.claimAs(q, 1, "one"), store.Ready, 0)[0]
	i.Reason = "again"
	f.wantSettle(q, i, store.Settled)
	f.clock.Advance(time.Second)
	r := f.claimAs(q, 1, "two")
	f.clock.Advance(time.Second)
	f.finish(q, r)
	f.clock.Advance(time.Minute)
	v := f.lookup(q, q, 1)
	f.equal("Lookup of a past message: State, Payload and Origin", []any{v.State, len(v.Payload), v.Origin == nil}, []any{store.States(0), 0, true})
	f.equal("Lookup of a past message: RemovedAt and Removal", []any{v.RemovedAt.UTC(), v.Removal}, []any{start.Add(2 * time.Second), store.Acked})
	f.equal("Lookup of a past message: Seq, Receives and Entered", []any{v.Seq, v.Receives, v.Entered}, []any{store.Seq(1), uint32(2), uint32(2)})
	f.equal("Lookup of a past message: Token, Consumer and LeasedAt", []any{v.Token, v.Consumer, v.LeasedAt.UTC()},
		[]any{r.Token, "two", start.Add(time.Second)})
	f.wantVisits(q, 1, store.Visit{LeasedAt: start, EndedAt: start, Consumer: "one", End: store.GivenBack, Reason: "again"})
	f.equal("Scan of the past", f.scan(q, store.Selection{}, 10), []store.View(nil))
}

func lookupRemovals(f *fixture) {
	target := f.queue(store.Settings{})
	for _, c := range []struct {
		want   store.Removal
		remove func(q store.QueueID)
	}{
		{store.Acked, func(q store.QueueID) { f.settle(q, anyone(1, store.Done, 0)) }},
		{store.Aged, func(q store.QueueID) { f.clock.Advance(retention + time.Second); f.sweep(q) }},
		{store.Aged, func(q store.QueueID) { f.clock.Advance(retention + time.Second); f.claim(q, 1) }},
		{store.Evicted, func(q store.QueueID) { f.send(q, "newer") }},
		{store.MovedAway, func(q store.QueueID) { f.move(store.MoveParams{Source: q, Target: target, Limit: 1}) }},
		{store.Purged, func(q store.QueueID) { f.purge(q, store.Selection{States: store.StateReady}) }},
	} {
		q := f.queue(store.Settings{History: 3, Retention: retention, MaxMessages: 1, Overflow: store.DropOldest})
		f.send(q, "a")
		c.remove(q)
		v := f.lookup(q, q, 1)
		f.equal(fmt.Sprintf("Lookup after removal %d: Removal and RemovedAt", c.want), []any{v.Removal, v.RemovedAt.UTC()},
			[]any{c.want, f.clock.Now()})
	}
}

func lookupHistoryBound(f *fixture) {
	q := f.queue(store.Settings{History: 3})
	f.send(q, "1", "2", "3", "4", "5")
	r := f.claim(q, 5)
	for _, i := range []int{4, 0, 3, 1, 2} {
		f.wantSettle(q, items(r, store.Done, 0)[i], store.Settled)
	}
	for seq, there := range map[store.Seq]bool{1: false, 2: true, 3: true, 4: true, 5: false} {
		if there {
			f.lookup(q, q, seq)
		} else {
			f.wantNotFound(q, q, seq)
		}
	}
}

func lookupVisitsMoved(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(q, "broken", "a")
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 1})
	v := f.lookup(target, q, 1)
	f.equal("Lookup of a moved message: Visits", v.Visits, []store.Visit(nil))
	f.equal("Lookup of a moved message: Receives and Entered", [2]uint32{v.Receives, v.Entered}, [2]uint32{1, 0})
}

func lookupRefuses(f *fixture) {
	_, err := f.store.Lookup(f.Context(), 404, 404, 1)
	f.wantError("Lookup in an unknown queue", err, store.ErrGone)
}
