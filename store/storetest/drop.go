package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

var dropCases = []testCase{
	{"removes a queue for every call", dropGone},
	{"may be repeated", dropAgain},
	{"touches no other queue", dropOthers},
	{"leaves nothing to the next generation", dropRecreate},
	{"makes receipts worthless", dropReceipts},
}

func dropGone(f *fixture) {
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(q, "", "dead")
	f.send(q, "a")
	f.drop(q)
	_, err := f.store.Send(f.Context(), store.SendParams{Queue: q, Revision: 1, Entries: entries("b")})
	f.wantError("Send to a dropped queue", err, store.ErrGone)
	_, err = f.store.Claim(f.Context(), f.claimParams(q, 1))
	f.wantError("Claim from a dropped queue", err, store.ErrGone)
	_, err = f.store.Settle(f.Context(), store.SettleParams{Queue: q, Revision: 1, Items: []store.SettleItem{{Seq: 2, Target: store.Done}}})
	f.wantError("Settle in a dropped queue", err, store.ErrGone)
	_, err = f.store.Move(f.Context(), store.MoveParams{Source: q, Target: other, Select: theDead, Limit: 1})
	f.wantError("Move from a dropped queue", err, store.ErrGone)
	_, err = f.store.Move(f.Context(), store.MoveParams{Source: other, Target: q, Select: theDead, Limit: 1})
	f.wantError("Move to a dropped queue", err, store.ErrGone)
	_, err = f.store.Stats(f.Context(), q)
	f.wantError("Stats of a dropped queue", err, store.ErrGone)
	_, err = f.store.Sweep(f.Context(), q)
	f.wantError("Sweep of a dropped queue", err, store.ErrGone)
	f.equal("Queues after a drop", f.queues(0, 10), []store.QueueID{other})
}

func (f *fixture) drop(q store.QueueID) {
	f.Helper()
	if err := f.store.Drop(f.Context(), q); err != nil {
		f.Fatalf("Drop(%v) = %v, want nil", q, err)
	}
}

func dropAgain(f *fixture) {
	q := f.queue(store.Settings{})
	f.drop(q)
	f.drop(q)
	f.drop(404)
}

func dropOthers(f *fixture) {
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(q, "a")
	f.send(other, "b")
	r := f.wantClaim(other, 1, "b")
	f.drop(q)
	f.wantCounts(other, "after another queue was dropped", counts{Leased: 1, Bytes: 1})
	f.wantSettle(other, items(r, store.Done, 0)[0], store.Settled)
}

func dropRecreate(f *fixture) {
	q := f.queue(store.Settings{})
	once := store.Once{Key: [16]byte{1}, Window: time.Hour}
	f.sendOnce(q, &once, entry("old"))
	f.sendEntries(q, delayed("old", time.Second))
	f.wantClaim(q, 1, "old")
	f.drop(q)
	q = f.queue(store.Settings{})
	f.wantCounts(q, "of a new generation", counts{})
	r := f.sendOnce(q, &once, entry("new"))
	f.equal("Send to a new generation: Duplicate", r.Duplicate, false)
	f.equal("Send to a new generation: First", r.First, store.Seq(1))
	f.clock.Advance(time.Hour)
	f.wantClaim(q, 10, "new")
}

func dropReceipts(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	old := items(f.wantClaim(q, 1, "a"), store.Done, 0)[0]
	f.drop(q)
	_, err := f.store.Settle(f.Context(), store.SettleParams{Queue: q, Revision: 1, Items: []store.SettleItem{old}})
	f.wantError("Settle with a receipt of a dropped queue", err, store.ErrGone)
}
