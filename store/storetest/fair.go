package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// fairCases: no group gets more than its share while another waits.
var fairCases = []testCase{
	{"takes turns among groups", fairTurns},
	{"serves the group with the fewest leased first", fairFewest},
	{"counts what the same call leased", fairSameCall},
	{"serves a quiet group beside a backlog", fairQuiet},
	{"goes by turns when as many are leased", fairTies},
	{"lets a new group wait for its turn", fairNewcomer},
	{"gives the oldest message of a group", fairOldest},
	{"counts what has no group as a group", fairNoGroup},
	{"does not lock groups", fairUnlocked},
	{"forgets a group without messages", fairForgets},
	{"serves a delayed message when it is due", fairDelayed},
	{"ignores priorities", fairPriorities},
	{"passes over the expired", fairExpired},
	{"gives out everything", fairAll},
}

// fair is a new queue in which groups take turns.
func (f *fixture) fair() store.QueueID {
	f.Helper()
	return f.queue(store.Settings{Mode: store.Fair})
}

func fairTurns(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2", "x3")
	f.sendGroup(q, "y", "y1", "y2")
	for _, body := range []string{"x1", "y1", "x2", "y2", "x3"} {
		r := f.wantClaim(q, 1, body)
		f.equal("Claim: Group", r.Messages[0].Group, body[:1])
		f.finish(q, r)
	}
}

func fairFewest(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2", "x3", "x4")
	x := f.wantClaim(q, 2, "x1", "x2")
	f.sendGroup(q, "y", "y1", "y2", "y3", "y4")
	f.wantClaim(q, 1, "y1")
	f.wantClaim(q, 1, "y2")
	f.finish(q, x)
	f.wantClaim(q, 2, "x3", "x4")
	f.wantClaim(q, 2, "y3", "y4")
}

func fairSameCall(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2", "x3", "x4")
	f.sendGroup(q, "y", "y1", "y2")
	f.sendGroup(q, "z", "z1")
	f.wantClaim(q, 5, "x1", "y1", "z1", "x2", "y2")
	f.wantClaim(q, 5, "x3", "x4")
}

func fairQuiet(f *fixture) {
	q := f.fair()
	noisy := make([]store.Entry, 500)
	for i := range noisy {
		noisy[i] = grouped(fmt.Sprint(i), "noisy")
	}
	f.sendEntries(q, noisy...)
	for i := range 5 {
		f.wantClaim(q, 1, fmt.Sprint(i))
	}
	f.sendGroup(q, "quiet", "now")
	f.wantClaim(q, 1, "now")
	f.wantClaim(q, 1, "5")
}

func fairTies(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2", "x3")
	f.sendGroup(q, "y", "y1", "y2", "y3")
	x := f.wantClaim(q, 1, "x1")
	y := f.wantClaim(q, 1, "y1")
	f.finish(q, y)
	f.wantClaim(q, 1, "y2") // x has one leased
	f.finish(q, x)
	f.wantClaim(q, 1, "x2") // y has one leased
	f.wantClaim(q, 1, "y3") // both have one, and x was served last
}

func fairNewcomer(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2")
	f.sendGroup(q, "y", "y1", "y2")
	f.finish(q, f.wantClaim(q, 1, "x1"))
	f.sendGroup(q, "z", "z1")
	f.finish(q, f.wantClaim(q, 1, "y1"))
	f.finish(q, f.wantClaim(q, 1, "x2"))
	f.finish(q, f.wantClaim(q, 1, "z1"))
	f.finish(q, f.wantClaim(q, 1, "y2"))
}

func fairOldest(f *fixture) {
	q := f.fair()
	e := delayed("late", 10*time.Second)
	e.Group = "x"
	f.sendEntries(q, e)
	f.sendGroup(q, "x", "a", "b")
	r := f.wantClaim(q, 1, "a")
	f.clock.Advance(20 * time.Second)
	f.sendGroup(q, "x", "c")
	f.wantSettle(q, items(r, store.Ready, 0)[0], store.Settled)
	f.wantClaim(q, 10, "a", "b", "late", "c")
}

func fairNoGroup(f *fixture) {
	q := f.fair()
	f.send(q, "a", "b", "c")
	f.sendGroup(q, "x", "x1")
	f.wantClaim(q, 4, "a", "x1", "b", "c")
}

func fairUnlocked(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2", "x3")
	f.wantClaim(q, 1, "x1")
	f.settle(q, items(f.wantClaim(q, 1, "x2"), store.Ready, time.Hour)...)
	f.wantClaim(q, 1, "x3")
}

// A group that comes back begins at the end of the line.
func fairForgets(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1")
	f.sendGroup(q, "y", "y1", "y2")
	f.finish(q, f.wantClaim(q, 1, "x1"))
	f.finish(q, f.wantClaim(q, 1, "y1"))
	f.sendGroup(q, "x", "x2")
	f.wantClaim(q, 2, "y2", "x2")
}

func fairDelayed(f *fixture) {
	q := f.fair()
	f.sendGroup(q, "x", "x1", "x2")
	e := delayed("y1", time.Second)
	e.Group = "y"
	f.sendEntries(q, e)
	f.wantClaim(q, 1, "x1")
	f.clock.Advance(time.Second)
	f.wantClaim(q, 2, "y1", "x2")
}

func fairPriorities(f *fixture) {
	q := f.fair()
	f.sendEntries(q, prioritized("a", 0), prioritized("b", 9), prioritized("c", 5))
	f.wantClaim(q, 10, "a", "b", "c")
}

func fairExpired(f *fixture) {
	q := f.fair()
	e := lasting("x1", time.Minute)
	e.Group = "x"
	f.sendEntries(q, e)
	f.sendGroup(q, "x", "x2")
	f.sendGroup(q, "y", "y1")
	f.clock.Advance(2 * time.Minute)
	r := f.wantClaim(q, 10, "x2", "y1")
	f.equal("Claim past an expired message: Expired", r.Expired, 1)
}

func fairAll(f *fixture) {
	q := f.fair()
	const messages = 300
	for i := range messages {
		f.sendGroup(q, fmt.Sprint(i*i%7), fmt.Sprint(i))
	}
	seen := make(map[string]bool)
	for range messages {
		r := f.claim(q, 7)
		for _, m := range r.Messages {
			seen[string(m.Payload)] = true
		}
		if len(r.Messages) == 0 {
			break
		}
		f.finish(q, r)
	}
	f.equal("different messages claimed", len(seen), messages)
	f.wantCounts(q, "after all were claimed", counts{})
}
