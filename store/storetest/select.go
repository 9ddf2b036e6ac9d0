package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// selectCases are about settling all messages of a selection: release, skip and dead-letter.
var selectCases = []testCase{
	{"release what a consumer holds", selectRelease},
	{"release once", selectReleaseAgain},
	{"release and kill what had its deliveries", selectReleaseUsedUp},
	{"end the leases of a consumer", selectEndLeases},
	{"release what did not count", selectReleaseUncounted},
	{"take back no delivery of what nobody holds", selectUncountHeldOnly},
	{"do not release what a consumer held before", selectReleasePast},
	{"skip a group", selectSkip},
	{"make a group dead", selectDead},
	{"choose by state", selectStates},
	{"choose by sequence", selectSeqs},
	{"choose by age", selectAge},
	{"choose by all that is said", selectAll},
	{"go up to a thousand a call", selectThousand},
	{"reach everything by going on", selectGoOn},
	{"judge as if with any token", selectOutcomes},
	{"change nothing when refused", selectRefuses},
}

// settleEach settles all messages of a selection, in as many calls as it takes, and returns the outcomes.
func (f *fixture) settleEach(q store.QueueID, sel store.Selection, each store.SettleItem) []store.Outcome {
	f.Helper()
	var list []store.Outcome
	for range 1000 {
		r := f.settleWith(store.SettleParams{Queue: q, Revision: f.revision[q], Select: &sel, Each: each})
		if len(r.Outcomes) > 1000 {
			f.Fatalf("Settle of %+v: got %d outcomes, want at most 1,000", sel, len(r.Outcomes))
		}
		list = append(list, r.Outcomes...)
		if r.Next == 0 {
			return list
		}
		if r.Next <= sel.From {
			f.Fatalf("Settle of %+v: got next %d, want it above where the call began", sel, r.Next)
		}
		sel.From = r.Next
	}
	f.Fatalf("Settle of %+v: did not come to an end within 1,000 calls", sel)
	return nil
}

// wantEach settles all messages of a selection and expects this many to be settled.
func (f *fixture) wantEach(q store.QueueID, sel store.Selection, target store.Target, want int) {
	f.Helper()
	got := f.settleEach(q, sel, store.SettleItem{Target: target})
	f.equal(fmt.Sprintf("Settle of %+v", sel), got, slices.Repeat([]store.Outcome{store.Settled}, want))
}

// claimAs claims for a consumer.
func (f *fixture) claimAs(q store.QueueID, limit int, consumer string) store.ClaimResult {
	f.Helper()
	p := f.claimParams(q, limit)
	p.Consumer = consumer
	return f.claimWith(p)
}

// release makes ready what a consumer holds.
func (f *fixture) release(q store.QueueID, consumer string, want int) {
	f.Helper()
	f.wantEach(q, store.Selection{Consumer: consumer}, store.Ready, want)
}

func selectRelease(f *fixture) {
	for _, s := range []store.Settings{{}, {Mode: store.Fair}, {Mode: store.FIFO}} {
		q := f.queue(s)
		f.sendEntries(q, grouped("a", "a"), grouped("b", "b"), grouped("c", "c"), grouped("d", "d"))
		one := f.claimAs(q, 2, "one")
		two := f.claimAs(q, 1, "two")
		three := f.claimAs(q, 1, "one")
		f.release(q, "one", 3)
		f.wantCounts(q, "after a release", counts{Ready: 3, Leased: 1, Bytes: 4})
		f.release(q, "nobody", 0)
		f.equal("Claim after a release", len(f.claimAs(q, 10, "two").Messages), 3)
		f.wantSettle(q, items(one, store.Done, 0)[0], store.Lost)
		f.wantSettle(q, items(three, store.Done, 0)[0], store.Lost)
		f.wantSettle(q, items(two, store.Done, 0)[0], store.Settled)
	}
}

func selectReleaseAgain(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	f.claimAs(q, 2, "one")
	f.release(q, "one", 2)
	f.release(q, "one", 0)
	f.wantClaim(q, 10, "a", "b")
}

func selectReleaseUsedUp(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a", "b")
	f.claimAs(q, 1, "one")
	got := f.settleEach(q, store.Selection{Consumer: "one"}, store.SettleItem{Target: store.Ready})
	f.equal("Settle of what one holds", got, []store.Outcome{store.Died})
	f.wantCounts(q, "after a release of the last delivery", counts{Ready: 1, Dead: 1, Bytes: 2})
}

// A release may say that the deliveries do not count: then they use up nothing, also where others come after them.
func selectReleaseUncounted(f *fixture) {
	for _, s := range []store.Settings{
		{MaxReceives: 2},
		{MaxReceives: 2, Lazy: true},
		{MaxReceives: 2, Mode: store.Fair},
		{MaxReceives: 2, Mode: store.FIFO},
		{MaxReceives: 2, Levels: 10},
	} {
		q := f.queue(s)
		f.sendEntries(q, grouped("a", "a"), grouped("b", "b"), grouped("c", "c"))
		uncounted := store.SettleItem{Target: store.Ready, Uncount: true}
		for range 3 {
			f.equal("Claim", len(f.claimAs(q, 2, "one").Messages), 2)
			f.equal("Settle of what one holds", f.settleEach(q, store.Selection{States: store.StateLeased, Consumer: "one"}, uncounted),
				[]store.Outcome{store.Settled, store.Settled})
		}
		f.wantCounts(q, "after releases that do not count", counts{Ready: 3, Bytes: 3})
		r := f.claimAs(q, 3, "two")
		for _, m := range r.Messages {
			f.equal("Claim after releases that do not count: Receives", m.Receives, uint32(1))
			f.equal("Lookup after releases that do not count: Visits", len(f.lookup(q, q, m.Seq).Visits), 0)
		}
		f.settle(q, items(r, store.Ready, 0)...)
		r = f.claimAs(q, 3, "one")
		f.equal("Settle of the last delivery", f.settleEach(q, store.Selection{Consumer: "one"}, uncounted),
			[]store.Outcome{store.Settled, store.Settled, store.Settled})
		for _, m := range f.claimAs(q, 3, "two").Messages {
			f.equal("Claim after the last delivery was taken back: Receives", m.Receives, uint32(2))
		}
		f.wantSettle(q, items(r, store.Done, 0)[0], store.Lost)
		f.clock.Advance(lease)
		f.wantClaim(q, 3)
	}
}

// What does not count is the delivery that is under way: of messages that nobody holds there is none.
func selectUncountHeldOnly(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	got := f.settleEach(q, store.Selection{States: store.AnyState}, store.SettleItem{Target: store.Ready, Uncount: true})
	f.equal("Settle of all", got, []store.Outcome{store.Settled, store.Settled, store.Lost, store.Settled, store.Settled})
	receives := map[string]uint32{}
	for _, m := range f.claim(q, 10).Messages {
		receives[string(m.Payload)] = m.Receives
	}
	f.equal("Receives", receives, map[string]uint32{"leased": 1, "backing off": 2, "delayed": 1, "ready": 1})
}

func selectEndLeases(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	f.claimAs(q, 2, "one")
	f.claimAs(q, 1, "two")
	f.wantEach(q, store.Selection{Consumer: "one"}, store.Leased, 2)
	f.wantClaim(q, 10, "a", "b")
}

func selectReleasePast(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "ended", "given back", "held by another")
	r := f.claimAs(q, 3, "one")
	f.settle(q, items(r, store.Ready, time.Hour)[1])
	f.clock.Advance(lease)
	f.claimAs(q, 1, "two")
	f.release(q, "one", 0)
	f.wantCounts(q, "after a release of nothing", counts{Ready: 1, Leased: 1, Delayed: 1, Bytes: 30})
}

// Skip: what is in the group is done with, whoever holds it, and the group goes on.
func selectSkip(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, grouped("a", "g"), grouped("x", "other"), grouped("b", "g"), grouped("c", "g"))
	r := f.wantClaim(q, 1, "a")
	f.wantEach(q, store.Selection{Group: new("g")}, store.Done, 3)
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Gone)
	f.wantClaim(q, 10, "x")
	f.sendGroup(q, "g", "d")
	f.wantClaim(q, 10, "d")
}

func selectDead(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, grouped("a", "g"), entry("x"), grouped("b", "g"))
	f.wantClaim(q, 1, "a")
	outcomes := f.settleEach(q, store.Selection{Group: new("g")}, store.SettleItem{Target: store.Dead, Reason: "given up"})
	f.equal("Settle of a group", outcomes, []store.Outcome{store.Settled, store.Settled})
	f.equal("Lookup: Reason", f.lookup(q, q, 3).Reason, "given up")
	f.wantCounts(q, "after a group died", counts{Ready: 1, Dead: 2, Bytes: 3})
	f.sendGroup(q, "g", "c")
	f.wantClaim(q, 10, "x", "c")
	f.wantEach(q, store.Selection{Group: new("")}, store.Done, 1) // the group with the empty name
}

func selectStates(f *fixture) {
	for _, c := range []struct {
		states store.States
		left   counts
	}{
		{store.StateReady, counts{Leased: 1, Delayed: 2, Dead: 1, Bytes: 28}},
		{store.StateDelayed, counts{Ready: 1, Leased: 1, Dead: 1, Bytes: 15}},
		{store.StateLeased, counts{Ready: 1, Delayed: 2, Dead: 1, Bytes: 27}},
		{store.StateDead, counts{Ready: 1, Leased: 1, Delayed: 2, Bytes: 29}},
		{store.StateReady | store.StateDead, counts{Leased: 1, Delayed: 2, Bytes: 24}},
		{store.AnyState, counts{}},
		{0, counts{}},
	} {
		q, _ := f.inEachState(store.Settings{})
		f.settleEach(q, store.Selection{States: c.states}, store.SettleItem{Target: store.Done})
		f.wantCounts(q, fmt.Sprintf("after states %b were removed", c.states), c.left)
	}
}

func selectSeqs(f *fixture) {
	for _, c := range []struct {
		sel  store.Selection
		left []string
	}{
		{store.Selection{From: 3}, []string{"1", "2"}},
		{store.Selection{UpTo: 3}, []string{"4", "5"}},
		{store.Selection{From: 2, UpTo: 4}, []string{"1", "5"}},
		{store.Selection{Seqs: []store.Seq{1, 4, 99}}, []string{"2", "3", "5"}},
		{store.Selection{Seqs: []store.Seq{}}, []string{"1", "2", "3", "4", "5"}},
		{store.Selection{Seqs: []store.Seq{1, 3, 5}, From: 2, UpTo: 4}, []string{"1", "2", "4", "5"}},
	} {
		q := f.queue(store.Settings{})
		f.send(q, "1", "2", "3", "4", "5")
		f.settleEach(q, c.sel, store.SettleItem{Target: store.Done})
		f.equal(fmt.Sprintf("left by %+v", c.sel), bodies(f.claim(q, 10)), c.left)
	}
}

func selectAge(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, entry("old"), delayed("due soon", time.Minute), delayed("due late", time.Hour))
	f.clock.Advance(10 * time.Second)
	f.send(q, "new")
	f.wantEach(q, store.Selection{AvailableBefore: f.clock.Now().Add(-5 * time.Second)}, store.Done, 1)
	f.wantEach(q, store.Selection{AvailableBefore: f.clock.Now().Add(10 * time.Minute)}, store.Done, 2)
	f.clock.Advance(time.Hour)
	f.wantClaim(q, 10, "due late")
}

func selectAll(f *fixture) {
	q := f.fifo()
	f.sendEntries(q, grouped("a1", "a"), grouped("a2", "a"), grouped("b1", "b"), grouped("a3", "a"), grouped("a4", "a"))
	f.wantClaim(q, 1, "a1")
	f.wantEach(q, store.Selection{Group: new("a"), States: store.StateReady, UpTo: 4}, store.Done, 2)
	f.wantEach(q, store.Selection{Group: new("a"), Consumer: "consumer"}, store.Done, 1)
	f.wantClaim(q, 10, "b1", "a4")
}

func selectThousand(f *fixture) {
	q := f.queue(store.Settings{})
	f.sendEntries(q, make([]store.Entry, 2500)...)
	f.wantEach(q, store.Selection{}, store.Done, 2500)
	f.wantCounts(q, "after all were removed", counts{})
}

// Few among many: a call may find none, and still say where to go on.
func selectGoOn(f *fixture) {
	q := f.queue(store.Settings{Mode: store.Fair})
	list := make([]store.Entry, 3000)
	for i := range list {
		list[i].Group = "many"
	}
	list[0].Group, list[1500].Group, list[2999].Group = "few", "few", "few"
	f.sendEntries(q, list...)
	f.wantEach(q, store.Selection{Group: new("few")}, store.Done, 3)
	f.wantCounts(q, "after few of many were removed", counts{Ready: 2997})
}

func selectOutcomes(f *fixture) {
	q, _ := f.inEachState(store.Settings{})
	got := f.settleEach(q, store.Selection{}, store.SettleItem{Seq: 77, Token: 77, Target: store.Leased, After: time.Minute})
	f.equal("Settle of all as leased", got, []store.Outcome{store.Settled, store.Lost, store.Lost, store.Lost, store.Lost})
}

func selectRefuses(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	for _, c := range []struct {
		queue    store.QueueID
		revision uint64
		want     error
	}{{404, 1, store.ErrGone}, {q, 2, store.ErrStaleConfig}, {q, 0, store.ErrStaleConfig}} {
		_, err := f.store.Settle(f.Context(), store.SettleParams{
			Queue: c.queue, Revision: c.revision, Select: &store.Selection{}, Each: store.SettleItem{Target: store.Done},
		})
		f.wantError(fmt.Sprintf("Settle of a selection in %v at revision %d", c.queue, c.revision), err, c.want)
	}
	f.wantClaim(q, 1, "a")
}
