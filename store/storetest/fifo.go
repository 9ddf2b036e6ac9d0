package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// fifoCases: a group keeps its order and never has two holders, and no group waits for another.
var fifoCases = []testCase{
	{"keeps the order of a group", fifoOrder},
	{"never has two holders in a group", fifoOneHolder},
	{"gives several messages of a group to one receiver", fifoSeveral},
	{"stays locked until the last of several is settled", fifoLastOfSeveral},
	{"does not unlock a group by a send", fifoSendKeepsLock},
	{"offers a drained group again", fifoDrained},
	{"serves other groups beside a locked one", fifoParallel},
	{"takes turns among groups", fifoTurns},
	{"finishes a group before the next", fifoWholeGroups},
	{"keeps the order of a batch", fifoBatch},
	{"has a group for what has none", fifoNoGroup},
	{"knows groups of any name", fifoNames},
	{"never passes over a message that is too big", fifoBytes},
	{"keeps the order after leases ended", fifoLeaseEnd},
	{"keeps the order after a nack", fifoNack},
	{"stays locked while a message backs off", fifoBackoff},
	{"stays locked while another lease lasts", fifoUnequalLeases},
	{"is unlocked by a lease of zero", fifoZeroLease},
	{"keeps the order after a delivery taken back", fifoUncount},
	{"is freed by a dead message", fifoDead},
	{"is freed by deliveries used up", fifoUsedUp},
	{"is freed by deliveries used up when lazy", fifoUsedUpLazily},
	{"refuses a late ack when strict", fifoLateAck},
	{"does not lock a group by a delay", fifoDelayedNewcomer},
	{"lets a delayed message take its place when due", fifoDelayedPlace},
	{"keeps the order in spite of a shorter delay", fifoInOrder},
	{"keeps the order within a group only", fifoInOrderPerGroup},
	{"does not hold back what has a delay of its own", fifoInOrderOwnDelay},
	{"ignores priorities", fifoPriorities},
	{"works on with a purged group", fifoPurged},
	{"works on with a redriven group", fifoRedriven},
	{"says whether more could be claimed", fifoReady},
	{"counts as ready what a locked group has", fifoCounts},
	{"keeps a backlog in order", fifoBacklog},
}

// fifo is a new queue that keeps the order of its groups.
func (f *fixture) fifo() store.QueueID {
	f.Helper()
	return f.queue(store.Settings{Mode: store.FIFO})
}

func fifoOrder(f *fixture) {
	q := f.fifo()
	for _, body := range []string{"a", "b", "c"} {
		f.sendGroup(q, "g", body)
	}
	for _, body := range []string{"a", "b", "c"} {
		f.finish(q, f.wantClaim(q, 1, body))
	}
	f.wantClaim(q, 1)
}

// "Two receivers holding one FIFO group."
func fifoOneHolder(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 1, "a")
	f.equal("Claim: Group", r.Messages[0].Group, "g")
	f.wantClaim(q, 10)
	f.clock.Advance(lease - time.Millisecond)
	f.wantClaim(q, 10)
	f.finish(q, r)
	f.wantClaim(q, 10, "b", "c")
	f.wantClaim(q, 10)
}

func fifoSeveral(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	f.finish(q, f.wantClaim(q, 3, "a", "b", "c"))
	f.wantClaim(q, 3, "d")
}

func fifoLastOfSeveral(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c", "d")
	r := f.wantClaim(q, 3, "a", "b", "c")
	for _, i := range []int{1, 0, 2} {
		f.wantClaim(q, 10)
		f.wantSettle(q, items(r, store.Done, 0)[i], store.Settled)
	}
	f.wantClaim(q, 10, "d")
}

// "A send to an in-flight group unlocking it."
func fifoSendKeepsLock(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a")
	r := f.wantClaim(q, 1, "a")
	for _, body := range []string{"b", "c"} {
		f.sendGroup(q, "g", body)
		f.wantClaim(q, 10)
	}
	f.finish(q, r)
	f.wantClaim(q, 10, "b", "c")
}

// "A drained group never offered again."
func fifoDrained(f *fixture) {
	q := f.fifo()
	for round := range 5 {
		body := fmt.Sprint(round)
		f.sendGroup(q, "g", body)
		r := f.wantClaim(q, 10, body)
		f.wantClaim(q, 10)
		f.finish(q, r)
		f.wantClaim(q, 10)
		f.wantCounts(q, "after a group was drained", counts{})
	}
}

func fifoParallel(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "x", "x1", "x2")
	f.sendGroup(q, "y", "y1", "y2")
	f.sendGroup(q, "z", "z1")
	x := f.wantClaim(q, 1, "x1")
	y := f.wantClaim(q, 1, "y1")
	f.wantClaim(q, 10, "z1")
	f.wantClaim(q, 10)
	f.finish(q, y)
	f.finish(q, f.wantClaim(q, 10, "y2"))
	f.finish(q, x)
	f.wantClaim(q, 10, "x2")
}

func fifoTurns(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "x", "x1", "x2", "x3")
	f.sendGroup(q, "y", "y1", "y2")
	for _, body := range []string{"x1", "y1", "x2", "y2", "x3"} {
		f.finish(q, f.wantClaim(q, 1, body))
	}
}

func fifoWholeGroups(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "x", "x1", "x2")
	f.sendGroup(q, "y", "y1", "y2", "y3")
	f.sendGroup(q, "x", "x3")
	f.wantClaim(q, 5, "x1", "x2", "x3", "y1", "y2")
	f.wantClaim(q, 5) // y has a holder
}

// "Batch send to FIFO out of order."
func fifoBatch(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, grouped("x1", "x"), grouped("y1", "y"), grouped("x2", "x"), grouped("y2", "y"), grouped("x3", "x"))
	f.wantClaim(q, 10, "x1", "x2", "x3", "y1", "y2")
}

func fifoNoGroup(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, entry("a"), grouped("x1", "x"), entry("b"))
	r := f.wantClaim(q, 1, "a")
	f.equal("Claim: Group", r.Messages[0].Group, "")
	f.wantClaim(q, 10, "x1")
	f.finish(q, r)
	f.wantClaim(q, 10, "b")
}

func fifoNames(f *fixture) {
	q := f.fifo()
	names := []string{"", "x", "X", "x ", "x\x00", "ü", "\xff\xfe", fmt.Sprintf("%0128d", 1), fmt.Sprintf("%0128d", 2)}
	for _, name := range names {
		f.sendGroup(q, name, name+" 1", name+" 2")
	}
	for _, name := range names {
		r := f.wantClaim(q, 1, name+" 1")
		f.equal("Claim: Group", r.Messages[0].Group, name)
	}
	f.wantClaim(q, 1)
}

func fifoBytes(f *fixture) {
	q := f.fifo()
	for _, size := range []uint32{10, 100, 1} {
		f.sendEntries(q, store.Entry{Payload: fmt.Append(nil, size), Size: size})
	}
	p := f.claimParams(q, 10)
	p.MaxBytes = 50
	r := f.claimWith(p)
	f.equal("Claim(max bytes 50)", bodies(r), []string{"10"})
	f.finish(q, r)
	f.equal("Claim(max bytes 50)", bodies(f.claimWith(p)), []string{"100"})
}

func fifoLeaseEnd(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c")
	f.wantClaim(q, 2, "a", "b")
	f.clock.Advance(lease)
	f.finish(q, f.wantClaim(q, 1, "a"))
	f.wantClaim(q, 10, "b", "c")
	f.clock.Advance(lease)
	f.wantClaim(q, 10, "b", "c")
}

func fifoNack(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(r, store.Ready, 0)[1], store.Settled)
	f.wantClaim(q, 10) // a has a holder
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	f.wantClaim(q, 10, "a", "b", "c")
}

// A nacked message keeps its group locked.
func fifoBackoff(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b")
	f.sendGroup(q, "other", "c")
	f.wantSettle(q, items(f.wantClaim(q, 1, "a"), store.Ready, 10*time.Second)[0], store.Settled)
	f.wantCounts(q, "after a nack", counts{Ready: 2, Delayed: 1, Bytes: 3})
	f.finish(q, f.wantClaim(q, 10, "c"))
	f.clock.Advance(10*time.Second - time.Millisecond)
	f.wantClaim(q, 10)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 10, "a", "b")
}

func fifoUnequalLeases(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantClaim(q, 2, "a", "b")
	f.wantSettle(q, items(r, store.Leased, 2*lease)[1], store.Settled)
	f.clock.Advance(lease)
	f.wantCounts(q, "when one of two leases ended", counts{Ready: 2, Leased: 1, Bytes: 3})
	f.wantClaim(q, 10)
	f.clock.Advance(lease)
	f.wantClaim(q, 10, "a", "b", "c")
}

func fifoZeroLease(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b")
	f.equal("Claim(visibility 0)", bodies(f.claimFor(q, 1, 0)), []string{"a"})
	r := f.wantClaim(q, 1, "a")
	f.wantSettle(q, items(r, store.Leased, 0)[0], store.Settled)
	f.wantClaim(q, 2, "a", "b")
}

func fifoUncount(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b")
	i := items(f.wantClaim(q, 1, "a"), store.Ready, 0)[0]
	i.Uncount = true
	f.wantSettle(q, i, store.Settled)
	r := f.wantClaim(q, 2, "a", "b")
	f.equal("Claim after a delivery taken back: Receives", r.Messages[0].Receives, uint32(1))
}

// Dead or parked messages free their group.
func fifoDead(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b")
	f.wantSettle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)[0], store.Settled)
	f.wantClaim(q, 10, "b")
}

func fifoUsedUp(f *fixture) {
	q := f.queue(store.Settings{Mode: store.FIFO, MaxReceives: 1})
	f.sendGroup(q, "g", "a", "b", "c")
	f.wantSettle(q, items(f.wantClaim(q, 1, "a"), store.Ready, time.Hour)[0], store.Died)
	f.wantClaim(q, 1, "b")
	f.clock.Advance(lease)
	f.wantClaim(q, 1, "c")
	f.wantCounts(q, "with two dead", counts{Leased: 1, Dead: 2, Bytes: 3})
}

func fifoUsedUpLazily(f *fixture) {
	q := f.queue(store.Settings{Mode: store.FIFO, MaxReceives: 1, Lazy: true})
	f.sendGroup(q, "g", "a", "b")
	f.wantClaim(q, 1, "a")
	f.clock.Advance(lease)
	r := f.wantClaim(q, 1, "b")
	f.equal("Claim past a message used up: Died", r.Died, 1)
}

// After the lease ended the group may go on without its holder.
func fifoLateAck(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b")
	late := items(f.wantClaim(q, 1, "a"), store.Done, 0)[0]
	f.clock.Advance(lease)
	f.wantStrict(q, late, store.Lost)
	f.wantClaim(q, 2, "a", "b")
	f.wantStrict(q, late, store.Lost)
	f.wantSettle(q, late, store.Lost)
}

// "A delayed newcomer locking its group."
func fifoDelayedNewcomer(f *fixture) {
	q := f.fifo()
	e := delayed("later", time.Hour)
	e.Group = "g"
	f.sendEntries(q, e)
	f.sendGroup(q, "g", "a")
	f.finish(q, f.wantClaim(q, 10, "a"))
	f.sendGroup(q, "g", "b")
	f.wantClaim(q, 10, "b")
}

func fifoDelayedPlace(f *fixture) {
	q := f.fifo()
	e := delayed("a", 10*time.Second)
	e.Group = "g"
	f.sendEntries(q, e)
	f.sendGroup(q, "g", "b", "c", "d")
	f.finish(q, f.wantClaim(q, 1, "b"))
	f.clock.Advance(10 * time.Second)
	f.wantClaim(q, 10, "a", "c", "d")
}

// inOrder is a message of a group with a delay that is the queue's.
func inOrder(body, group string, d time.Duration) store.Entry {
	e := grouped(body, group)
	e.Delay, e.InOrder = d, true
	return e
}

func fifoInOrder(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, inOrder("a", "g", 10*time.Second))
	f.clock.Advance(time.Second)
	f.sendEntries(q, inOrder("b", "g", time.Second), inOrder("c", "g", 0))
	f.clock.Advance(9*time.Second - time.Millisecond)
	f.wantClaim(q, 10)
	f.wantCounts(q, "before the first is due", counts{Delayed: 3, Bytes: 3})
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 10, "a", "b", "c")
}

func fifoInOrderPerGroup(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, inOrder("a", "g", 10*time.Second), inOrder("x", "other", time.Second))
	f.clock.Advance(time.Second)
	f.wantClaim(q, 10, "x")
}

func fifoInOrderOwnDelay(f *fixture) {
	q := f.fifo()
	own := delayed("own", time.Hour)
	own.Group = "g"
	f.sendEntries(q, own, inOrder("a", "g", 10*time.Second), grouped("b", "g"), inOrder("c", "g", time.Second))
	f.finish(q, f.wantClaim(q, 10, "b"))
	f.clock.Advance(10 * time.Second)
	f.wantClaim(q, 10, "a", "c")
}

func fifoPriorities(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, prioritized("a", 0), prioritized("b", 9), prioritized("c", 5))
	f.wantClaim(q, 10, "a", "b", "c")
}

func fifoPurged(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b")
	f.sendGroup(q, "other", "x", "y")
	f.wantClaim(q, 1, "a")
	f.wantClaim(q, 1, "x")
	f.purge(q, store.Selection{Group: new("g")})
	f.wantClaim(q, 10)
	f.sendGroup(q, "g", "c")
	f.finish(q, f.wantClaim(q, 10, "c"))
	f.purge(q, store.Selection{})
	f.sendGroup(q, "other", "z")
	f.wantClaim(q, 10, "z")
}

func fifoRedriven(f *fixture) {
	q, parked := f.fifo(), f.queue(store.Settings{})
	f.sendGroup(q, "g", "a", "b")
	f.wantSettle(q, items(f.wantClaim(q, 1, "a"), store.Dead, 0)[0], store.Settled)
	f.move(store.MoveParams{Source: q, Target: parked, Select: theDead, Limit: 10})
	r := f.wantClaim(q, 1, "b")
	f.wantSettle(parked, items(f.wantClaim(parked, 1, "a"), store.Dead, 0)[0], store.Settled)
	f.move(store.MoveParams{Source: parked, Target: q, Select: theDead, Limit: 10})
	f.sendGroup(q, "g", "c")
	f.wantClaim(q, 10) // b has a holder
	f.finish(q, r)
	r = f.wantClaim(q, 10, "a", "c")
	f.equal("Claim of a redriven message: Group", r.Messages[0].Group, "g")
}

func fifoReady(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "x", "x1", "x2")
	f.sendGroup(q, "y", "y1")
	f.equal("Claim with another group to go on with: Ready", f.claim(q, 1).Ready, true)
	r := f.claim(q, 1)
	f.equal("Claim with locked groups left: Ready", r.Ready, false)
	f.wantDue("Claim with locked groups left", r.NextDue, lease)
}

func fifoCounts(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c")
	f.wantClaim(q, 1, "a")
	f.wantCounts(q, "of a locked group", counts{Ready: 2, Leased: 1, Bytes: 3})
}

func fifoBacklog(f *fixture) {
	q := f.fifo()
	const groups, messages = 17, 40
	var list []store.Entry
	for m := range messages {
		for g := range groups {
			list = append(list, grouped(fmt.Sprintf("%d/%d", g, m), fmt.Sprint(g)))
		}
	}
	f.sendEntries(q, list...)
	next := make([]int, groups)
	for total := 0; total < groups*messages; {
		r := f.claim(q, 11)
		if len(r.Messages) == 0 {
			f.Fatalf("Claim after %d of %d messages: got nothing", total, groups*messages)
		}
		for _, m := range r.Messages {
			var g int
			if _, err := fmt.Sscan(m.Group, &g); err != nil {
				f.Fatalf("Claim: got group %q, want a number", m.Group)
			}
			f.equal("Claim: next of group "+m.Group, string(m.Payload), fmt.Sprintf("%d/%d", g, next[g]))
			next[g]++
		}
		total += len(r.Messages)
		f.finish(q, r)
	}
}
