package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// deliveryCases are about the number of deliveries a message may have, and who judges.
var deliveryCases = []testCase{
	{"are unlimited by default", deliveriesUnlimited},
	{"used up by nacks kill at the last nack", deliveriesEagerNack},
	{"used up by lease end kill at that moment", deliveriesEagerLeaseEnd},
	{"used up by a lease of zero kill at once", deliveriesEagerZero},
	{"used up are found by the next claim when lazy", deliveriesLazy},
	{"used up do not keep others waiting when lazy", deliveriesLazyPasses},
	{"judged lazily may still be acked", deliveriesLazyLateAck},
	{"may be one", deliveriesOne},
	{"taken back do not count", deliveriesUncount},
	{"taken back do not kill", deliveriesUncountSaves},
	{"limited later judge who comes back", deliveriesLoweredLimit},
	{"used up are not delivered though nobody sweeps", deliveriesEagerUnswept},
}

// deliver claims the one message there is and gives it back, and expects this outcome.
func deliver(f *fixture, q store.QueueID, n int, want store.Outcome) {
	f.Helper()
	m, token := f.claimOne(q)
	f.equal(fmt.Sprintf("delivery %d: Entered", n), m.Entered, uint32(n))
	f.wantSettle(q, item(m.Seq, token, store.Ready, 0), want)
}

func deliveriesUnlimited(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	for n := 1; n <= 50; n++ {
		deliver(f, q, n, store.Settled)
	}
}

// "Off-by-one on maximum receives."
func deliveriesEagerNack(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 3})
	f.send(q, "a")
	deliver(f, q, 1, store.Settled)
	deliver(f, q, 2, store.Settled)
	f.wantCounts(q, "after two of three deliveries", counts{Ready: 1, Bytes: 1})
	deliver(f, q, 3, store.Died)
	f.wantCounts(q, "after three of three deliveries", counts{Dead: 1, Bytes: 1})
	f.wantClaim(q, 1)
}

func deliveriesEagerLeaseEnd(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 2})
	f.send(q, "a")
	f.wantClaim(q, 1, "a")
	f.clock.Advance(lease)
	f.wantClaim(q, 1, "a")
	f.clock.Advance(lease - time.Millisecond)
	f.wantCounts(q, "before the last lease ends", counts{Leased: 1, Bytes: 1})
	f.clock.Advance(time.Millisecond)
	f.wantCounts(q, "when the last lease ends", counts{Dead: 1, Bytes: 1})
	f.wantClaim(q, 1)
}

func deliveriesEagerZero(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a")
	f.equal("Claim(visibility 0)", bodies(f.claimFor(q, 1, 0)), []string{"a"})
	f.wantCounts(q, "after the last lease of zero", counts{Dead: 1, Bytes: 1})
	f.wantClaim(q, 1)
}

func deliveriesLazy(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 2, Lazy: true})
	f.send(q, "a")
	deliver(f, q, 1, store.Settled)
	deliver(f, q, 2, store.Settled)
	f.wantCounts(q, "before the next claim", counts{Ready: 1, Bytes: 1})
	f.sweep(q)
	f.wantCounts(q, "after a sweep", counts{Ready: 1, Bytes: 1})
	r := f.wantClaim(q, 1)
	f.equal("Claim of a used up message: Died", r.Died, 1)
	f.wantCounts(q, "after the next claim", counts{Dead: 1, Bytes: 1})
	f.equal("Claim after that: Died", f.claim(q, 1).Died, 0)
}

func deliveriesLazyPasses(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1, Lazy: true})
	f.send(q, "a", "b")
	f.wantClaim(q, 2, "a", "b")
	f.clock.Advance(lease)
	f.send(q, "c")
	r := f.wantClaim(q, 1, "c")
	f.equal("Claim that passes two used up messages: Died", r.Died, 2)
	f.wantCounts(q, "afterwards", counts{Leased: 1, Dead: 2, Bytes: 3})
}

func deliveriesLazyLateAck(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1, Lazy: true})
	f.send(q, "a")
	m, token := f.claimOne(q)
	f.clock.Advance(2 * lease)
	f.wantSettle(q, item(m.Seq, token, store.Done, 0), store.Settled)
	f.wantCounts(q, "after a late ack", counts{})
}

func deliveriesOne(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a", "b")
	m, token := f.claimOne(q)
	f.wantSettle(q, item(m.Seq, token, store.Done, 0), store.Settled)
	deliver(f, q, 1, store.Died)
	f.wantCounts(q, "after one ack and one nack", counts{Dead: 1, Bytes: 1})
}

// "One retry counted as two receives": a delivery that never reached the client is as if it had not happened.
func deliveriesUncount(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	for range 3 {
		m, token := f.claimOne(q)
		f.equal("Claim after deliveries taken back: Receives", m.Receives, uint32(1))
		f.equal("Claim after deliveries taken back: Entered", m.Entered, uint32(1))
		f.wantSettle(q, store.SettleItem{Seq: m.Seq, Token: token, Target: store.Ready, Uncount: true}, store.Settled)
	}
}

func deliveriesUncountSaves(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a")
	m, token := f.claimOne(q)
	f.wantSettle(q, store.SettleItem{Seq: m.Seq, Token: token, Target: store.Ready, Uncount: true}, store.Settled)
	f.wantCounts(q, "after the only delivery was taken back", counts{Ready: 1, Bytes: 1})
	deliver(f, q, 1, store.Died)
}

func deliveriesLoweredLimit(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 5})
	f.send(q, "a", "b")
	r := f.wantClaim(q, 2, "a", "b")
	f.settle(q, item(r.Messages[0].Seq, r.Token, store.Ready, 0))
	f.configure(q, store.Settings{MaxReceives: 1})
	// One is ready and one is leased; each has had its one delivery.
	f.wantSettle(q, item(r.Messages[1].Seq, r.Token, store.Ready, 0), store.Died)
	f.wantClaim(q, 2)
	f.wantCounts(q, "after the limit was lowered and a claim", counts{Dead: 2, Bytes: 2})
}

func deliveriesEagerUnswept(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a", "b")
	f.wantClaim(q, 1, "a")
	f.clock.Advance(lease)
	f.wantClaim(q, 2, "b")
	f.wantCounts(q, "after a claim", counts{Leased: 1, Dead: 1, Bytes: 2})
}
