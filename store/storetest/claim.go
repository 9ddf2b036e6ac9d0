package storetest

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var claimCases = []testCase{
	{"of an empty queue is empty", claimEmpty},
	{"hands a message to one", claimHides},
	{"gives at most what was asked for", claimMax},
	{"stops at a number of bytes", claimMaxBytes},
	{"says when leases end", claimDeadline},
	{"lends until the millisecond", claimLeaseEnds},
	{"offers oldest first after a lease", claimOldestFirst},
	{"orders by tick then by sequence", claimTicks},
	{"keeps a returned message's age through a delay", claimKeepsAge},
	{"orders two leases with the same deadline", claimEqualDeadlines},
	{"mixes new and returned messages by age", claimMixes},
	{"ends a lease of zero at once", claimZero},
	{"raises its token each time", claimTokens},
	{"says that more is ready", claimReady},
	{"leases nothing when refused", claimRefuses},
	{"leases nothing for a caller who left", claimCanceled},
}

func claimEmpty(f *fixture) {
	q := f.queue(store.Settings{})
	r := f.claim(q, 10)
	f.equal("Claim of an empty queue", r.Messages, []store.Delivery{})
	f.equal("Claim of an empty queue: Ready", r.Ready, false)
	f.equal("Claim of an empty queue: NextDue", r.NextDue, store.NoDue)
}

func claimHides(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	f.wantClaim(q, 1, "a")
	f.wantClaim(q, 10, "b")
	f.wantClaim(q, 10)
}

func claimMax(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c", "d", "e")
	f.wantClaim(q, 2, "a", "b")
	f.wantClaim(q, 1, "c")
	f.wantClaim(q, 3, "d", "e")
}

func claimMaxBytes(f *fixture) {
	q := f.queue(store.Settings{})
	for _, size := range []uint32{10, 20, 30, 40, 100, 1} {
		f.sendEntries(q, store.Entry{Payload: fmt.Append(nil, size), Size: size})
	}
	for _, step := range []struct {
		bytes int64
		want  []string
	}{
		{30, []string{"10", "20"}},
		{69, []string{"30"}},
		{1, []string{"40"}},      // the first is given whatever its size
		{0, []string{"100"}},     // even then
		{1 << 40, []string{"1"}}, // and nothing was left out
	} {
		p := f.claimParams(q, 10)
		p.MaxBytes = step.bytes
		f.equal(fmt.Sprintf("Claim(max bytes %d)", step.bytes), bodies(f.claimWith(p)), step.want)
	}
}

func claimDeadline(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.clock.Advance(time.Minute)
	r := f.claimFor(q, 1, 1234*time.Millisecond)
	f.equal("Claim(visibility 1.234s).Deadline", r.Deadline.UTC(), f.clock.Now().Add(1234*time.Millisecond))
}

func claimLeaseEnds(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.claimFor(q, 1, 10*time.Second)
	f.clock.Advance(10*time.Second - time.Millisecond)
	f.wantClaim(q, 1)
	f.wantCounts(q, "just before the lease ends", counts{Leased: 1, Bytes: 1})
	f.clock.Advance(time.Millisecond)
	f.wantCounts(q, "when the lease ends", counts{Ready: 1, Bytes: 1})
	r := f.wantClaim(q, 1, "a")
	f.equal("Claim after a lease: Receives", r.Messages[0].Receives, uint32(2))
	f.equal("Claim after a lease: Entered", r.Messages[0].Entered, uint32(2))
}

// A message that came back is not sent to the end of the line.
func claimOldestFirst(f *fixture) {
	q := f.queue(store.Settings{})
	for _, body := range []string{"a", "b", "c", "d"} {
		f.send(q, body)
		f.clock.Advance(time.Second)
	}
	r := f.wantClaim(q, 2, "a", "b")
	f.settle(q, item(r.Messages[1].Seq, r.Token, store.Ready, 0))
	f.wantClaim(q, 1, "b")
	f.clock.Advance(lease)
	f.wantClaim(q, 4, "a", "b", "c", "d")
}

func claimTicks(f *fixture) {
	q := f.queue(store.Settings{})
	// The clock starts at a whole tick. First available: a in tick 1, b in tick 0, c and d in tick 2, c later.
	f.sendEntries(q,
		delayed("a", store.Tick),
		delayed("b", store.Tick-time.Millisecond),
		delayed("c", 3*store.Tick-time.Millisecond),
		delayed("d", 2*store.Tick))
	f.clock.Advance(time.Second)
	f.wantClaim(q, 10, "b", "a", "c", "d")
}

func claimKeepsAge(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r := f.wantClaim(q, 1, "a")
	f.clock.Advance(time.Second)
	f.send(q, "b")
	f.settle(q, items(r, store.Ready, 10*time.Second)...)
	f.wantClaim(q, 2, "b")
	f.clock.Advance(time.Second)
	f.send(q, "c")
	f.clock.Advance(9 * time.Second)
	f.wantClaim(q, 2, "a", "c")
}

// "Two leases with the same deadline losing one."
func claimEqualDeadlines(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	f.wantClaim(q, 1, "a")
	f.wantClaim(q, 2, "b", "c")
	f.clock.Advance(lease)
	f.wantCounts(q, "when three leases end together", counts{Ready: 3, Bytes: 3})
	f.wantClaim(q, 3, "a", "b", "c")
}

func claimMixes(f *fixture) {
	q := f.queue(store.Settings{})
	var want []string
	for i := range 40 {
		f.send(q, fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
		if i%3 == 0 {
			f.claimFor(q, 1, time.Duration(i%7)*time.Second)
		}
		f.clock.Advance(200 * time.Millisecond)
	}
	f.clock.Advance(10 * time.Second)
	f.wantClaim(q, 100, want...)
}

func claimZero(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r := f.claimFor(q, 1, 0)
	f.equal("Claim(visibility 0)", bodies(r), []string{"a"})
	f.equal("Claim(visibility 0).Deadline", r.Deadline.UTC(), f.clock.Now())
	f.wantCounts(q, "after a lease of zero", counts{Ready: 1, Bytes: 1})
	again := f.wantClaim(q, 1, "a")
	f.equal("Claim after a lease of zero: Receives", again.Messages[0].Receives, uint32(2))
}

func claimTokens(f *fixture) {
	q := f.queue(store.Settings{})
	var before store.Token
	for i := range 5 {
		f.send(q, "a", "b")
		r := f.claim(q, 2)
		if r.Token <= before || r.Token >= 1<<53 {
			f.Fatalf("Claim %d: got token %d, want above %d and below 2^53", i, r.Token, before)
		}
		before = r.Token
		f.settle(q, items(r, store.Done, 0)...)
		f.claim(q, 1) // empty
	}
}

func claimReady(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b", "c")
	f.sendEntries(q, delayed("d", time.Hour))
	for _, want := range []bool{true, true, false, false} {
		f.equal("Claim(max 1).Ready", f.claim(q, 1).Ready, want)
	}
}

func claimRefuses(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	for _, c := range []struct {
		name     string
		queue    store.QueueID
		revision uint64
		want     error
	}{
		{"an unknown queue", 404, 1, store.ErrGone},
		{"a newer revision", q, 2, store.ErrStaleConfig},
		{"an older revision", q, 0, store.ErrStaleConfig},
	} {
		p := f.claimParams(c.queue, 1)
		p.Revision = c.revision
		_, err := f.store.Claim(f.Context(), p)
		f.wantError("Claim from "+c.name, err, c.want)
	}
	r := f.wantClaim(q, 1, "a")
	f.equal("Claim after refused ones: Receives", r.Messages[0].Receives, uint32(1))
}

// "A killed client's long poll still leasing a message": a call that fails has leased nothing.
func claimCanceled(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	r, err := f.store.Claim(canceled(), f.claimParams(q, 1))
	if err == nil {
		f.settle(q, items(r, store.Ready, 0)...) // it was too late to stop, which is allowed
		return
	}
	m, _ := f.claimOne(q)
	f.equal("Claim after a canceled one: Receives", m.Receives, uint32(1))
}
