package storetest

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// attemptCases: a receive whose answer was lost is repeated under its attempt and gives the same.
var attemptCases = []testCase{
	{"gives the same messages again", attemptRepeats},
	{"lends them anew", attemptLends},
	{"may be repeated often", attemptOften},
	{"is new after one of them was settled", attemptSettled},
	{"is new after a lease ended", attemptEnded},
	{"is new after its window", attemptWindow},
	{"is told apart from others", attemptOthers},
	{"is no matter of other queues", attemptQueues},
	{"remembers nothing of an empty answer", attemptEmpty},
	{"does not go by what is asked for", attemptAsked},
	{"is new after an extension", attemptExtended},
	{"is spent for those that want the first messages only", attemptSpent},
	{"repeats a locked group", attemptFIFO},
	{"repeats what fills the flight", attemptLimits},
	{"is forgotten at a purge", attemptPurge},
	{"keeps groups and priorities", attemptFields},
}

const attemptWindowLength = 5 * time.Minute

// claimAttempt claims under an attempt.
func (f *fixture) claimAttempt(q store.QueueID, limit int, attempt string) store.ClaimResult {
	f.Helper()
	p := f.claimParams(q, limit)
	copy(p.Attempt[:], attempt)
	p.AttemptWindow = attemptWindowLength
	return f.claimWith(p)
}

// wantAttempt claims under an attempt and expects these messages, repeated or not.
func (f *fixture) wantAttempt(q store.QueueID, limit int, attempt string, repeated bool, want ...string) store.ClaimResult {
	f.Helper()
	r := f.claimAttempt(q, limit, attempt)
	f.equal("Claim(attempt "+attempt+")", bodies(r), want)
	f.equal("Claim(attempt "+attempt+"): Repeated", r.Repeated, repeated)
	return r
}

func attemptRepeats(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a", "b", "c")
	first := f.wantAttempt(q, 2, "x", false, "a", "b")
	again := f.wantAttempt(q, 2, "x", true, "a", "b")
	f.equal("repeated Claim: Token", again.Token, first.Token)
	for i, m := range again.Messages {
		f.equal("repeated Claim: Seq, Receives and Entered", [3]int{int(m.Seq), int(m.Receives), int(m.Entered)}, [3]int{i + 1, 1, 1})
	}
	f.wantCounts(q, "after a repeat", counts{Ready: 1, Leased: 2, Bytes: 3})
	f.finish(q, first)
}

func attemptLends(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.wantAttempt(q, 1, "x", false, "a")
	f.clock.Advance(lease - time.Second)
	r := f.wantAttempt(q, 1, "x", true, "a")
	f.equal("repeated Claim: Deadline", r.Deadline.UTC(), f.clock.Now().Add(lease))
	f.clock.Advance(lease - time.Millisecond)
	f.wantClaim(q, 1)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 1, "a")
}

func attemptOften(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r := f.wantAttempt(q, 1, "x", false, "a")
	for range 5 {
		f.clock.Advance(lease / 2)
		f.equal("repeated Claim: Token", f.wantAttempt(q, 1, "x", true, "a").Token, r.Token)
	}
	f.finish(q, r)
}

func attemptSettled(f *fixture) {
	for _, target := range []store.Target{store.Done, store.Ready, store.Dead} {
		q := f.queue(store.Settings{})
		f.send(q, "a", "b", "c")
		r := f.wantAttempt(q, 2, "x", false, "a", "b")
		f.wantSettle(q, items(r, target, time.Hour)[0], store.Settled)
		f.wantAttempt(q, 2, "x", false, "c")
		f.wantAttempt(q, 2, "x", true, "c") // the attempt is that of the new call now
	}
}

func attemptEnded(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	first := f.wantAttempt(q, 2, "x", false, "a", "b")
	f.wantSettle(q, items(first, store.Leased, time.Hour)[1], store.Settled)
	f.clock.Advance(lease)
	r := f.wantAttempt(q, 2, "x", false, "a")
	f.equal("Claim after a lease ended: Receives", r.Messages[0].Receives, uint32(2))
}

func attemptWindow(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	p := f.claimParams(q, 1)
	p.Visibility, p.Attempt, p.AttemptWindow = time.Hour, [16]byte{'x'}, attemptWindowLength
	f.equal("Claim(attempt x)", bodies(f.claimWith(p)), []string{"a"})
	f.clock.Advance(attemptWindowLength - time.Millisecond)
	f.equal("Claim(attempt x)", bodies(f.claimWith(p)), []string{"a"})
	f.clock.Advance(time.Millisecond)
	f.equal("Claim(attempt x)", bodies(f.claimWith(p)), []string{"b"})
}

func attemptOthers(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	f.wantAttempt(q, 1, "x", false, "a")
	f.wantAttempt(q, 1, "y", false, "b")
	f.wantClaim(q, 1, "c")
	f.wantAttempt(q, 1, "x", true, "a")
	f.wantAttempt(q, 1, "y", true, "b")
}

func attemptQueues(f *fixture) {
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(q, "a")
	f.send(other, "b")
	f.wantAttempt(q, 1, "x", false, "a")
	f.wantAttempt(other, 1, "x", false, "b")
}

func attemptEmpty(f *fixture) {
	q := f.queue(store.Settings{})
	f.wantAttempt(q, 1, "x", false)
	f.send(q, "a")
	f.wantAttempt(q, 1, "x", false, "a")
	f.wantAttempt(q, 1, "x", true, "a")
}

func attemptAsked(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	f.wantAttempt(q, 2, "x", false, "a", "b")
	f.wantAttempt(q, 1, "x", true, "a", "b")
	f.wantAttempt(q, 10, "x", true, "a", "b")
	f.wantClaim(q, 10, "c")
}

func attemptExtended(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	first := f.wantAttempt(q, 2, "x", false, "a", "b")
	f.wantSettle(q, items(first, store.Leased, lease)[1], store.Settled)
	second := f.wantAttempt(q, 2, "x", false, "c")
	f.wantAttempt(q, 2, "x", true, "c")
	f.settle(q, items(first, store.Leased, lease)...)
	f.wantAttempt(q, 2, "x", true, "c")
	f.settle(q, items(second, store.Leased, lease)...)
	f.wantAttempt(q, 2, "x", false)
}

func attemptFIFO(f *fixture) {
	q := f.fifo()
	f.sendGroup(q, "g", "a", "b", "c")
	r := f.wantAttempt(q, 2, "x", false, "a", "b")
	f.wantClaim(q, 10)
	f.wantAttempt(q, 2, "x", true, "a", "b")
	f.wantClaim(q, 10)
	f.finish(q, r)
	f.wantClaim(q, 10, "c")
}

func attemptLimits(f *fixture) {
	q := f.queue(store.Settings{MaxInFlight: 1, Interval: time.Hour})
	f.send(q, "a", "b")
	f.wantAttempt(q, 1, "x", false, "a")
	f.wantAttempt(q, 1, "x", true, "a")
	f.wantClaim(q, 1)
}

func attemptPurge(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.wantAttempt(q, 1, "x", false, "a")
	f.purge(q, store.Selection{})
	f.send(q, "b")
	f.wantAttempt(q, 1, "x", false, "b")
}

func attemptFields(f *fixture) {
	q := f.queue(store.Settings{Levels: 10})
	e := lasting("a", time.Hour)
	e.Group, e.Priority = "g", 7
	f.sendEntries(q, e)
	first := f.wantAttempt(q, 1, "x", false, "a")
	again := f.wantAttempt(q, 1, "x", true, "a")
	f.equal("repeated Claim: Messages", again.Messages, first.Messages)
}

func attemptSpent(f *fixture) {
	firstOnly := func(q store.QueueID) store.ClaimResult {
		p := f.claimParams(q, 2)
		p.Attempt, p.AttemptWindow, p.FirstOnly = [16]byte{'x'}, attemptWindowLength, true
		return f.claimWith(p)
	}
	for name, c := range map[string]struct {
		change func(q store.QueueID, r store.ClaimResult)
		spent  bool
		then   []string
	}{
		"nothing":        {func(store.QueueID, store.ClaimResult) {}, false, []string{"a", "b"}},
		"one was acked":  {func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Done, 0)[1]) }, true, nil},
		"all were acked": {func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Done, 0)...) }, true, nil},
		"extended":       {func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Leased, time.Hour)[0]) }, true, nil},
		"made visible":   {func(q store.QueueID, r store.ClaimResult) { f.settle(q, items(r, store.Leased, 0)[0]) }, true, nil},
		"purged":         {func(q store.QueueID, r store.ClaimResult) { f.purge(q, store.Selection{}) }, false, []string{}},
		"leases ended":   {func(store.QueueID, store.ClaimResult) { f.clock.Advance(lease) }, false, []string{"a", "b"}},
		"undone": {func(q store.QueueID, r store.ClaimResult) {
			back := items(r, store.Ready, 0)
			for i := range back {
				back[i].Uncount = true
			}
			f.settle(q, back...)
		}, false, []string{"a", "b"}},
	} {
		for _, set := range []store.Settings{{}, {Mode: store.FIFO, Tail: true}} {
			q := f.queue(set)
			f.send(q, "a", "b", "c")
			first := firstOnly(q)
			f.equal(name+": first Claim", bodies(first), []string{"a", "b"})
			c.change(q, first)
			for range 2 {
				r := firstOnly(q)
				f.equal(name+": repeated Claim: Spent", r.Spent, c.spent)
				f.equal(name+": repeated Claim", append([]string{}, bodies(r)...), append([]string{}, c.then...))
			}
			if c.spent { // it is a new call for those that want one, and after the window
				f.clock.Advance(attemptWindowLength)
				f.equal(name+": Claim after the window: Spent", firstOnly(q).Spent, false)
			}
		}
	}
}
