package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var purgeCases = []testCase{
	{"removes everything", purgeAll},
	{"is harmless when nothing is there", purgeNothing},
	{"removes a backlog at once", purgeBacklog},
	{"removes what is selected", purgeSelected},
	{"removes what is selected by the thousand", purgeThousand},
	{"makes receipts worthless", purgeReceipts},
	{"leaves a queue that works", purgeWorks},
	{"goes on numbering", purgeNumbers},
	{"leaves settings", purgeSettings},
	{"touches no other queue", purgeOthers},
	{"unlocks groups", purgeGroups},
	{"forgets dead messages", purgeDead},
	{"refuses an unknown queue", purgeRefuses},
}

// purge removes all messages of a selection, in as many calls as it takes.
func (f *fixture) purge(q store.QueueID, sel store.Selection) store.PurgeResult {
	f.Helper()
	var total store.PurgeResult
	for range 1000 {
		f.pause()
		r, err := f.store.Purge(f.Context(), q, sel)
		if err != nil {
			f.Fatalf("Purge(%+v) = %v, want nil", sel, err)
		}
		total.Purged += r.Purged
		if r.Next == 0 {
			return total
		}
		if r.Next <= sel.From {
			f.Fatalf("Purge(%+v): got next %d, want it above where the call began", sel, r.Next)
		}
		sel.From = r.Next
	}
	f.Fatalf("Purge(%+v): did not come to an end within 1,000 calls", sel)
	return total
}

func purgeAll(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	f.equal("Purge: Purged", f.purge(q, store.Selection{}).Purged, int64(5))
	f.wantCounts(q, "after a purge", counts{})
	f.clock.Advance(24 * time.Hour)
	f.wantClaim(q, 10)
	f.wantDue("Stats after a purge", f.stats(q).NextDue, store.NoDue)
}

func purgeNothing(f *fixture) {
	q := f.queue(store.Settings{})
	for range 2 {
		f.equal("Purge of an empty queue", f.purge(q, store.Selection{}), store.PurgeResult{})
	}
}

func purgeBacklog(f *fixture) {
	q := f.queue(store.Settings{})
	for range 5 {
		f.sendEntries(q, make([]store.Entry, 1000)...)
	}
	f.pause()
	r, err := f.store.Purge(f.Context(), q, store.Selection{})
	f.wantError("Purge", err, nil)
	f.equal("Purge of a backlog", r, store.PurgeResult{Purged: 5000})
	f.wantCounts(q, "after a purge", counts{})
}

func purgeSelected(f *fixture) {
	for _, c := range []struct {
		sel  store.Selection
		left counts
	}{
		{store.Selection{States: store.StateReady}, counts{Leased: 1, Delayed: 2, Dead: 1, Bytes: 28}},
		{store.Selection{States: store.StateDelayed}, counts{Ready: 1, Leased: 1, Dead: 1, Bytes: 15}},
		{store.Selection{States: store.StateLeased}, counts{Ready: 1, Delayed: 2, Dead: 1, Bytes: 27}},
		{theDead, counts{Ready: 1, Leased: 1, Delayed: 2, Bytes: 29}},
		{store.Selection{From: 2, UpTo: 4}, counts{Ready: 1, Leased: 1, Bytes: 11}},
		{store.Selection{Consumer: "consumer"}, counts{Ready: 1, Delayed: 2, Dead: 1, Bytes: 27}},
		{store.Selection{Group: new("")}, counts{}},
		{store.Selection{Group: new("other")}, counts{Ready: 1, Leased: 1, Delayed: 2, Dead: 1, Bytes: 33}},
	} {
		q, _ := f.inEachState(store.Settings{Mode: store.Fair})
		f.purge(q, c.sel)
		f.wantCounts(q, fmt.Sprintf("after a purge of %+v", c.sel), c.left)
	}
}

func purgeThousand(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, make([]store.Entry, 2500)...)
	f.pause()
	r, err := f.store.Purge(f.Context(), q, store.Selection{States: store.StateReady})
	f.wantError("Purge", err, nil)
	if r.Purged > 1000 || r.Next == 0 {
		f.Fatalf("Purge of 2,500 ready messages: got %+v, want at most 1,000 purged and where to go on", r)
	}
	rest := f.purge(q, store.Selection{States: store.StateReady, From: r.Next})
	f.equal("purged altogether", r.Purged+rest.Purged, int64(2500))
	f.wantCounts(q, "after all were purged", counts{})
}

func purgeReceipts(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r := f.wantClaim(q, 1, "a")
	f.purge(q, store.Selection{})
	f.send(q, "b")
	for _, target := range []store.Target{store.Leased, store.Ready, store.Dead, store.Done} {
		f.wantSettle(q, items(r, target, time.Minute)[0], store.Gone)
	}
	f.wantClaim(q, 10, "b")
}

func purgeWorks(f *fixture) {
	for _, s := range []store.Settings{{}, {Levels: 10}, {Mode: store.Fair}, {Mode: store.FIFO}} {
		q := f.queue(s)
		for range 3 {
			f.sendGroup(q, "g", "a", "b")
			f.sendEntries(q, delayed("later", time.Hour))
			f.wantClaim(q, 1, "a")
			f.purge(q, store.Selection{})
			f.sendGroup(q, "g", "c")
			f.finish(q, f.wantClaim(q, 10, "c"))
			f.wantCounts(q, "after a purge and an ack", counts{})
		}
	}
}

func purgeNumbers(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	before := f.wantClaim(q, 1, "a").Token
	f.purge(q, store.Selection{})
	f.equal("Send after a purge: First", f.send(q, "c").First, store.Seq(3))
	if after := f.wantClaim(q, 1, "c").Token; after <= before {
		f.Errorf("Claim after a purge: got token %d, want above %d", after, before)
	}
}

func purgeSettings(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1, MaxMessages: 2})
	f.send(q, "a")
	f.purge(q, store.Selection{})
	f.equal("Stats.Revision", f.stats(q).Revision, uint64(1))
	f.wantFates(q, entries("b", "c", "d"), accepted(2), accepted(3), refused)
	f.settle(q, items(f.wantClaim(q, 1, "b"), store.Ready, 0)...)
	f.wantCounts(q, "after one delivery of one", counts{Ready: 1, Dead: 1, Bytes: 2})
}

func purgeOthers(f *fixture) {
	q, other := f.dedupQueue(), f.dedupQueue()
	f.wantFates(q, []store.Entry{keyed("a", "k")})
	f.wantFates(other, []store.Entry{keyed("b", "k")})
	r := f.wantClaim(other, 1, "b")
	f.purge(q, store.Selection{})
	f.wantFates(other, []store.Entry{keyed("again", "k")}, duplicate(1))
	f.finish(other, r)
}

func purgeGroups(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "leased", "a", "b")
	f.sendGroup(q, "backing off", "c", "d")
	f.wantClaim(q, 1, "a")
	f.settle(q, items(f.wantClaim(q, 1, "c"), store.Ready, time.Hour)...)
	f.purge(q, store.Selection{States: store.StateLeased | store.StateDelayed})
	f.wantClaim(q, 10, "b", "d")
}

// "Deleted dead letters returning after restart."
func purgeDead(f *fixture) {
	q, target := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.bury(q, "", "a", "b")
	f.purge(q, theDead)
	f.bury(q, "", "c")
	f.move(store.MoveParams{Source: q, Target: target, Select: theDead, Limit: 10})
	f.wantClaim(target, 10, "c")
}

func purgeRefuses(f *fixture) {
	for _, sel := range []store.Selection{{}, theDead} {
		_, err := f.store.Purge(f.Context(), 404, sel)
		f.wantError(fmt.Sprintf("Purge(%+v) of an unknown queue", sel), err, store.ErrGone)
	}
}
