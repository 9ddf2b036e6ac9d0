package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// fifoTailCases: with Tail a group gives what is before its first message that is leased or backs off.
var fifoTailCases = []testCase{
	{"finishes a group before the next", tailWholeGroups},
	{"gives nothing behind what is leased", tailBehind},
	{"gives a message again whose lease ended among others", tailEndsAmongOthers},
	{"gives a message again that was given back among others", tailGivenBack},
	{"gives what is before an extended lease", tailExtended},
	{"hides what is behind an extended lease after its own end", tailExtendedHead},
	{"serves other groups before one that was freed", tailTurns},
	{"serves groups in turn with leases of zero", tailZeroLeases},
	{"works on with a group that was emptied", tailEmptied},
	{"is not blocked behind what died", tailDead},
	{"is not blocked by deliveries used up when lazy", tailUsedUpLazily},
	{"is blocked by a backoff", tailBackoff},
	{"is not blocked by a delay", tailDelay},
	{"lets a delayed message take its place before others", tailDelayedPlace},
	{"lets one claim take more than the first", tailSeveral},
	{"stops a claim at what others hold", tailStops},
	{"may have several holders in a group", tailHolders},
	{"keeps to the bound of a group", tailInFlight},
	{"repeats an attempt", tailAttempt},
	{"is freed by a purge or a move", tailRemoved},
	{"says whether more could be claimed", tailReady},
	{"shows what a group waits for", tailGroups},
	{"may be set and unset", tailConfigured},
	{"gives a long group in order", tailBacklog},
}

// tail is a new queue whose groups give what is before their first message in flight.
func (f *fixture) tail() store.QueueID {
	f.Helper()
	return f.queue(store.Settings{Mode: store.FIFO, Tail: true})
}

func tailWholeGroups(f *fixture) {
	q := f.tail()
	f.sendEntries(q, grouped("x1", "x"), grouped("x2", "x"), grouped("y1", "y"), grouped("x3", "x"))
	f.wantClaim(q, 10, "x1", "x2", "x3", "y1")
	f.wantClaim(q, 10)
}

func tailBehind(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	r := f.wantClaim(q, 3, "a", "b", "c")
	for _, i := range []int{0, 2, 1} {
		f.wantClaim(q, 10)
		f.wantSettle(q, items(r, store.Done, 0)[i], store.Settled)
	}
	f.sendGroup(q, "g", "e")
	f.wantClaim(q, 1, "d")
	f.wantClaim(q, 10)
}

func tailEndsAmongOthers(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	r := f.wantClaim(q, 3, "a", "b", "c")
	f.wantSettle(q, items(r, store.Leased, lease/2)[0], store.Settled)
	f.clock.Advance(lease / 2)
	f.wantClaim(q, 10, "a")
	f.wantClaim(q, 10)
	f.wantCounts(q, "with a held by another", counts{Ready: 1, Leased: 3, Bytes: 4})
	f.clock.Advance(lease / 2)
	f.wantClaim(q, 10) // b and c are behind a
	f.clock.Advance(lease / 2)
	f.wantClaim(q, 10, "a", "b", "c", "d")
}

func tailGivenBack(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	r := f.wantClaim(q, 3, "a", "b", "c")
	f.wantSettle(q, items(r, store.Ready, 0)[1], store.Settled)
	f.wantClaim(q, 10) // a is before it
	f.wantSettle(q, items(r, store.Leased, 0)[0], store.Settled)
	f.wantClaim(q, 10, "a", "b")
	f.wantClaim(q, 10)
}

// The message behind which a group stops is the first in flight, whatever became of those before it.
func tailExtended(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c", "d", "e")
	r := f.wantClaim(q, 4, "a", "b", "c", "d")
	f.wantSettle(q, items(r, store.Leased, 3*lease)[2], store.Settled)
	f.clock.Advance(lease)
	r2 := f.wantClaim(q, 10, "a", "b")
	f.wantClaim(q, 10)
	f.finish(q, r2)
	f.wantClaim(q, 10)
	f.clock.Advance(2*lease - time.Millisecond)
	f.wantClaim(q, 10)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 10, "c", "d", "e")
}

func tailExtendedHead(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 3, "a", "b", "c")
	f.wantSettle(q, items(r, store.Leased, 2*lease)[0], store.Settled)
	f.clock.Advance(2*lease - time.Millisecond)
	f.wantCounts(q, "when two of three leases ended", counts{Ready: 2, Leased: 1, Bytes: 3})
	f.wantClaim(q, 10)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 10, "a", "b", "c")
}

func tailTurns(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "x", "x1", "x2", "x3")
	f.sendGroup(q, "y", "y1")
	f.wantClaim(q, 2, "x1", "x2")
	f.clock.Advance(lease)
	f.wantClaim(q, 1, "y1")
	r := f.wantClaim(q, 2, "x1", "x2")
	f.sendGroup(q, "z", "z1")
	f.wantSettle(q, items(r, store.Leased, 0)[0], store.Settled)
	f.wantClaim(q, 2, "x1", "z1") // z became known after x was served
}

func tailZeroLeases(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "x", "x1", "x2")
	f.sendGroup(q, "y", "y1", "y2")
	for _, want := range []string{"x1", "y1", "x1", "y1"} {
		f.equal("Claim(visibility 0)", bodies(f.claimFor(q, 1, 0)), []string{want})
	}
	f.equal("Claim(3, visibility 0)", bodies(f.claimFor(q, 3, 0)), []string{"x1", "x2", "y1"})
}

func tailEmptied(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b")
	f.finish(q, f.wantClaim(q, 10, "a", "b"))
	f.sendGroup(q, "g", "c")
	f.settle(q, items(f.wantClaim(q, 10, "c"), store.Dead, 0)...)
	f.move(store.MoveParams{Source: q, Target: f.queue(store.Settings{}), Select: theDead, Limit: 10})
	f.sendGroup(q, "g", "d")
	f.finish(q, f.wantClaim(q, 10, "d"))
	f.wantCounts(q, "after a group was emptied", counts{})
}

func tailDead(f *fixture) {
	q := f.queue(store.Settings{Mode: store.FIFO, Tail: true, MaxReceives: 1})
	f.sendGroup(q, "g", "a", "b", "c")
	f.wantSettle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)[0], store.Settled)
	f.wantClaim(q, 1, "b")
	f.clock.Advance(lease)
	f.wantClaim(q, 10, "c")
}

func tailUsedUpLazily(f *fixture) {
	q := f.queue(store.Settings{Mode: store.FIFO, Tail: true, MaxReceives: 1, Lazy: true})
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	found := f.wantClaim(q, 10) // b is still held
	f.equal("Claim that meets a message used up: Died", found.Died, 1)
	f.clock.Advance(lease)
	found = f.wantClaim(q, 10, "c")
	f.equal("Claim past a message used up: Died", found.Died, 1)
}

func tailBackoff(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	f.settle(q, items(r, store.Ready, 10*time.Second)[1], items(r, store.Ready, 0)[0])
	f.finish(q, f.wantClaim(q, 10, "a"))
	f.clock.Advance(10*time.Second - time.Millisecond)
	f.wantClaim(q, 10)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 10, "b", "c")
}

func tailDelay(f *fixture) {
	q := f.tail()
	e := delayed("later", time.Hour)
	e.Group = "g"
	f.sendEntries(q, e, grouped("a", "g"), grouped("b", "g"))
	f.wantClaim(q, 10, "a", "b")
	f.sendGroup(q, "g", "c")
	f.wantSettle(q, anyone(4, store.Ready, time.Minute), store.Settled) // a delay, but not a backoff
	f.wantSettle(q, anyone(2, store.Done, 0), store.Settled)
	f.wantSettle(q, anyone(3, store.Done, 0), store.Settled)
	f.sendGroup(q, "g", "d")
	f.wantClaim(q, 10, "d")
}

func tailDelayedPlace(f *fixture) {
	q := f.tail()
	e := delayed("a", 10*time.Second)
	e.Group = "g"
	f.sendEntries(q, e, grouped("b", "g"), grouped("c", "g"))
	f.wantClaim(q, 1, "b")
	f.wantClaim(q, 10)
	f.clock.Advance(10 * time.Second)
	f.wantClaim(q, 10, "a")
	f.wantClaim(q, 10)
}

func tailSeveral(f *fixture) {
	q := f.tail()
	for i := range 3 {
		f.sendGroup(q, "g", fmt.Sprint(i))
	}
	f.finish(q, f.wantClaim(q, 2, "0", "1"))
	f.wantClaim(q, 2, "2")
}

func tailStops(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "x", "x1", "x2", "x3", "x4", "x5")
	r := f.wantClaim(q, 4, "x1", "x2", "x3", "x4")
	f.sendGroup(q, "y", "y1", "y2")
	for _, i := range []int{1, 3, 0} {
		f.wantSettle(q, items(r, store.Ready, 0)[i], store.Settled)
	}
	f.wantClaim(q, 3, "x1", "x2", "y1")
	f.wantClaim(q, 3)
	f.wantSettle(q, items(r, store.Done, 0)[2], store.Settled)
	f.wantClaim(q, 3)
}

func tailHolders(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 3, "a", "b", "c")
	f.settle(q, items(r, store.Ready, 0)[:2]...)
	b := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(b, store.Ready, 0)[0], store.Settled)
	a := f.wantClaim(q, 2, "a")
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Lost)
	f.wantStrict(q, items(r, store.Done, 0)[2], store.Settled)
	f.wantStrict(q, items(b, store.Done, 0)[1], store.Settled)
	f.wantStrict(q, items(a, store.Done, 0)[0], store.Settled)
	f.wantCounts(q, "after three holders", counts{})
}

func tailInFlight(f *fixture) {
	q := f.queue(store.Settings{Mode: store.FIFO, Tail: true, GroupInFlight: 2})
	e := delayed("a", 10*time.Second)
	e.Group = "g"
	f.sendEntries(q, e, grouped("b", "g"), grouped("c", "g"), grouped("d", "g"))
	r := f.wantClaim(q, 10, "b", "c")
	f.clock.Advance(10 * time.Second)
	f.wantClaim(q, 10)
	f.wantSettle(q, items(r, store.Done, 0)[1], store.Settled)
	f.wantClaim(q, 10, "a")
}

func tailAttempt(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c")
	f.wantAttempt(q, 2, "1", false, "a", "b")
	f.clock.Advance(lease / 2)
	r := f.wantAttempt(q, 2, "1", true, "a", "b")
	f.clock.Advance(lease / 2)
	f.wantClaim(q, 10) // the leases began again
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	f.wantAttempt(q, 2, "1", false, "a")
}

func tailRemoved(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	f.wantClaim(q, 1, "a")
	f.purge(q, store.Selection{UpTo: 1})
	f.wantSettle(q, items(f.wantClaim(q, 1, "b"), store.Ready, time.Hour)[0], store.Settled)
	f.wantClaim(q, 10)
	f.move(store.MoveParams{Source: q, Target: f.queue(store.Settings{}), Select: store.Selection{Seqs: []store.Seq{2}}, Limit: 1})
	f.wantClaim(q, 1, "c")
	f.purge(q, store.Selection{})
	f.sendGroup(q, "g", "e")
	f.wantClaim(q, 10, "e")
}

func tailReady(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	f.equal("Claim that leaves what is behind: Ready", r.Ready, false)
	r.Messages = r.Messages[:1]
	f.settle(q, items(r, store.Leased, lease/2)...)
	f.clock.Advance(lease / 2)
	r = f.claim(q, 1)
	f.equal("Claim of what was before others", bodies(r), []string{"a"})
	f.equal("Claim of what was before others: Ready", r.Ready, false)
	f.wantDue("Claim of what was before others", r.NextDue, lease/2)
}

func tailGroups(f *fixture) {
	q := f.tail()
	f.sendGroup(q, "g", "a", "b", "c")
	f.wantHead(f.groups(q)[0], 1, 0)
	r := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(r, store.Leased, 2*lease)[1], store.Settled)
	g := f.groups(q)[0]
	f.equal("Groups with a leased head: Head", g.Head, store.Seq(1))
	f.equal("Groups with a leased head: LockedUntil", g.LockedUntil.UTC(), r.Deadline.UTC())
	f.clock.Advance(lease)
	g = f.groups(q)[0]
	f.wantHead(g, 1, lease)
	f.equal("Groups with a head before others: LockedUntil", g.LockedUntil.IsZero(), true)
	f.finish(q, f.wantClaim(q, 10, "a"))
	g = f.groups(q)[0]
	f.equal("Groups with the head gone: Head", g.Head, store.Seq(2))
	f.equal("Groups with the head gone: LockedUntil", g.LockedUntil.UTC(), f.clock.Now().Add(lease))
}

func tailConfigured(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	f.sendGroup(q, "other", "x1", "x2")
	r := f.wantClaim(q, 3, "a", "b", "c")
	f.wantClaim(q, 1, "x1")
	f.settle(q, items(r, store.Ready, 0)[0], items(r, store.Ready, time.Hour)[1])
	f.wantClaim(q, 10)
	f.configure(q, store.Settings{Mode: store.FIFO, Tail: true})
	a := f.wantClaim(q, 10, "a")
	f.wantSettle(q, items(a, store.Ready, 0)[0], store.Settled)
	f.configure(q, store.Settings{Mode: store.FIFO})
	f.wantClaim(q, 10)
	f.clock.Advance(lease)
	f.finish(q, f.wantClaim(q, 10, "x1", "x2")) // c is ready again, b backs off
	f.configure(q, store.Settings{Mode: store.FIFO, Tail: true})
	f.finish(q, f.wantClaim(q, 10, "a"))
	f.clock.Advance(time.Hour)
	f.wantClaim(q, 10, "b", "c", "d")
}

func tailBacklog(f *fixture) {
	q := f.tail()
	const messages = 600
	list := make([]store.Entry, messages)
	for i := range list {
		list[i] = grouped(fmt.Sprint(i), "g")
	}
	f.sendEntries(q, list...)
	for next := 0; next < messages; {
		r := f.claim(q, 7)
		f.equal("Claim beside others", bodies(f.claim(q, 7)), []string(nil))
		again := r
		again.Messages = r.Messages[:len(r.Messages)/2]
		f.settle(q, items(again, store.Ready, 0)...)
		half := f.claim(q, 7)
		f.equal("Claim of what was given back", bodies(half), bodies(again))
		for _, m := range r.Messages {
			f.equal("Claim: next", string(m.Payload), fmt.Sprint(next))
			next++
		}
		r.Messages = r.Messages[len(r.Messages)/2:]
		f.finish(q, r)
		if len(half.Messages) > 0 {
			f.finish(q, half)
		}
	}
	f.wantCounts(q, "after a long group", counts{})
}
