package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var settleCases = []testCase{
	{"done removes", settleDone},
	{"done may be repeated", settleDoneAgain},
	{"done is accepted after the lease ended", settleLateDone},
	{"done is lost to the next holder", settleStaleDone},
	{"nothing is done by the same token twice leased", settleTokenOfAnother},
	{"a token of nobody settles nothing", settleForged},
	{"ready gives back at once", settleReady},
	{"ready after a delay", settleReadyAfter},
	{"ready may be repeated without a new delay", settleReadyAgain},
	{"a late heartbeat does not overwrite the backoff", settleHeartbeatAfterNack},
	{"leased moves the end later", settleExtend},
	{"leased moves the end earlier", settleShorten},
	{"leased for zero frees at once", settleVisibilityZero},
	{"leased takes back what was lost by nobody", settleExtendEnded},
	{"dead is not delivered again", settleDead},
	{"dead is final", settleDeadIsFinal},
	{"strict refuses an ended lease", settleStrict},
	{"judges items one by one", settleBatch},
	{"judges items in order", settleTwice},
	{"takes a thousand items", settleThousand},
	{"changes nothing when refused", settleRefuses},
}

func settleDone(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	r := f.wantClaim(q, 1, "a")
	f.wantSettle(q, items(r, store.Done, 0)[0], store.Settled)
	f.wantCounts(q, "after an ack", counts{Ready: 1, Bytes: 1})
	f.clock.Advance(2 * lease)
	f.wantClaim(q, 2, "b")
}

// Repeating an ack is harmless.
func settleDoneAgain(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	i := items(f.wantClaim(q, 1, "a"), store.Done, 0)[0]
	f.wantSettle(q, i, store.Settled)
	for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
		i.Target = target
		f.wantSettle(q, i, store.Gone)
		f.wantStrict(q, i, store.Gone)
	}
	f.wantCounts(q, "after repeated acks", counts{Ready: 1, Bytes: 1})
}

func settleLateDone(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Done, 0)[0]
	f.clock.Advance(2 * lease)
	f.wantSettle(q, i, store.Settled)
	f.wantClaim(q, 1)
}

func settleStaleDone(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	old := f.wantClaim(q, 1, "a")
	f.clock.Advance(lease)
	present := f.wantClaim(q, 1, "a")
	for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
		f.wantSettle(q, items(old, target, time.Hour)[0], store.Lost)
		f.wantStrict(q, items(old, target, time.Hour)[0], store.Lost)
	}
	f.wantCounts(q, "after stale tokens", counts{Leased: 1, Bytes: 1})
	f.clock.Advance(lease - time.Millisecond)
	f.wantClaim(q, 1)
	f.wantSettle(q, items(present, store.Done, 0)[0], store.Settled)
}

// A token fences a delivery of a message; it says nothing about the next delivery of another.
func settleTokenOfAnother(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	a := f.wantClaim(q, 1, "a")
	b := f.wantClaim(q, 1, "b")
	f.wantSettle(q, item(a.Messages[0].Seq, b.Token, store.Done, 0), store.Lost)
	f.wantSettle(q, item(b.Messages[0].Seq, a.Token, store.Done, 0), store.Lost)
	f.wantCounts(q, "after exchanged tokens", counts{Leased: 2, Bytes: 2})
}

func settleForged(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	f.sendEntries(q, delayed("b", time.Second))
	f.wantSettle(q, item(99, 1, store.Done, 0), store.Gone)
	f.wantSettle(q, item(0, 0, store.Done, 0), store.Gone)
	for _, token := range []store.Token{0, 1, 1 << 52} {
		for seq := store.Seq(1); seq <= 2; seq++ {
			for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
				f.wantSettle(q, item(seq, token, target, time.Hour), store.Lost)
				f.wantStrict(q, item(seq, token, target, time.Hour), store.Lost)
			}
		}
	}
	f.clock.Advance(time.Second)
	f.wantClaim(q, 2, "a", "b")
}

func settleReady(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Ready, 0)[0]
	f.wantSettle(q, i, store.Settled)
	f.wantCounts(q, "after a nack", counts{Ready: 1, Bytes: 1})
	r := f.wantClaim(q, 1, "a")
	f.equal("Claim after a nack: Receives", r.Messages[0].Receives, uint32(2))
	f.wantSettle(q, i, store.Lost)
}

func settleReadyAfter(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Ready, 10*time.Second)[0]
	f.wantSettle(q, i, store.Settled)
	f.wantCounts(q, "after a nack with backoff", counts{Delayed: 1, Bytes: 1})
	f.clock.Advance(10*time.Second - time.Millisecond)
	f.wantClaim(q, 1)
	f.clock.Advance(time.Millisecond)
	f.wantClaim(q, 1, "a")
}

func settleReadyAgain(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Ready, 10*time.Second)[0]
	f.wantSettle(q, i, store.Settled)
	f.clock.Advance(9 * time.Second)
	f.settle(q, i) // its answer was lost; whatever is said now, the first delay stays
	f.clock.Advance(time.Second)
	f.wantClaim(q, 1, "a")
}

// "A late heartbeat overwriting the backoff just set."
func settleHeartbeatAfterNack(f *fixture) {
	for _, after := range []time.Duration{0, time.Second, time.Hour} {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		r := f.wantClaim(q, 1, "a")
		f.wantSettle(q, items(r, store.Ready, 10*time.Second)[0], store.Settled)
		f.wantSettle(q, items(r, store.Leased, after)[0], store.Lost)
		f.wantStrict(q, items(r, store.Leased, after)[0], store.Lost)
		f.wantCounts(q, "after a late heartbeat", counts{Delayed: 1, Bytes: 1})
		f.clock.Advance(10*time.Second - time.Millisecond)
		f.wantClaim(q, 1)
		f.clock.Advance(time.Millisecond)
		f.wantClaim(q, 1, "a")
	}
}

func settleExtend(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Leased, lease)[0]
	for range 4 {
		f.clock.Advance(lease - time.Millisecond)
		f.wantStrict(q, i, store.Settled)
	}
	f.clock.Advance(lease - time.Millisecond)
	f.wantClaim(q, 1)
	f.clock.Advance(time.Millisecond)
	r := f.wantClaim(q, 1, "a")
	f.equal("Claim after a longer lease: Receives", r.Messages[0].Receives, uint32(2))
}

func settleShorten(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Leased, time.Second)[0]
	f.wantSettle(q, i, store.Settled)
	f.clock.Advance(time.Second)
	f.wantClaim(q, 1, "a")
}

func settleVisibilityZero(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 2})
	f.send(q, "a")
	f.wantSettle(q, items(f.wantClaim(q, 1, "a"), store.Leased, 0)[0], store.Settled)
	f.wantCounts(q, "after a lease was ended", counts{Ready: 1, Bytes: 1})
	f.settle(q, items(f.wantClaim(q, 1, "a"), store.Leased, 0)...)
	f.wantCounts(q, "after the last lease was ended", counts{Dead: 1, Bytes: 1})
}

func settleExtendEnded(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Leased, lease)[0]
	f.clock.Advance(lease + time.Second)
	f.wantSettle(q, i, store.Settled)
	f.wantCounts(q, "after an ended lease was taken up again", counts{Leased: 1, Bytes: 1})
	f.wantClaim(q, 1)
	f.wantStrict(q, item(i.Seq, i.Token, store.Done, 0), store.Settled)
}

func settleDead(f *fixture) {
	q := f.queue(store.Settings{})
	f.bury(q, "broken", "a")
	f.wantCounts(q, "after a reject", counts{Dead: 1, Bytes: 1})
	f.clock.Advance(24 * time.Hour)
	f.sweep(q)
	f.wantClaim(q, 1)
	f.wantCounts(q, "a day after a reject", counts{Dead: 1, Bytes: 1})
}

func settleDeadIsFinal(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "rejected", "ended")
	r := f.wantClaim(q, 2, "rejected", "ended")
	f.wantSettle(q, items(r, store.Dead, 0)[0], store.Settled)
	f.clock.Advance(lease)
	for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
		for _, i := range items(r, target, 0) {
			f.wantSettle(q, i, store.Lost)
			f.wantStrict(q, i, store.Lost)
		}
	}
	f.wantCounts(q, "after settling the dead", counts{Dead: 2, Bytes: int64(len("rejectedended"))})
}

func settleStrict(f *fixture) {
	for _, target := range []store.Target{store.Done, store.Ready, store.Leased, store.Dead} {
		q := f.queue(store.Settings{})
		f.send(q, "a")
		i := items(f.wantClaim(q, 1, "a"), target, time.Second)[0]
		f.clock.Advance(lease)
		f.wantStrict(q, i, store.Lost)
		f.wantCounts(q, "after a strict settle of an ended lease", counts{Ready: 1, Bytes: 1})
	}
}

func settleBatch(f *fixture) {
	q := f.queue(store.Settings{MaxReceives: 1})
	f.send(q, "a", "b", "c", "d", "e")
	r := f.wantClaim(q, 4, "a", "b", "c", "d")
	a, b, c, d := r.Messages[0].Seq, r.Messages[1].Seq, r.Messages[2].Seq, r.Messages[3].Seq
	list := []store.SettleItem{
		item(99, r.Token, store.Done, 0),
		item(a, r.Token, store.Done, 0),
		item(b, r.Token+1, store.Done, 0),
		item(b, r.Token, store.Ready, 0),
		item(c, r.Token, store.Leased, time.Hour),
		item(d, r.Token, store.Dead, 0),
	}
	want := []store.Outcome{store.Gone, store.Settled, store.Lost, store.Died, store.Settled, store.Settled}
	f.equal(fmt.Sprintf("Settle(%+v)", list), f.settle(q, list...).Outcomes, want)
	f.wantCounts(q, "after a mixed batch", counts{Ready: 1, Leased: 1, Dead: 2, Bytes: 4})
}

func settleTwice(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a", "b")
	r := f.wantClaim(q, 2, "a", "b")
	a, b := r.Messages[0].Seq, r.Messages[1].Seq
	list := []store.SettleItem{
		item(a, r.Token, store.Leased, time.Hour),
		item(a, r.Token, store.Done, 0),
		item(a, r.Token, store.Done, 0),
		item(b, r.Token, store.Dead, 0),
		item(b, r.Token, store.Done, 0),
	}
	want := []store.Outcome{store.Settled, store.Settled, store.Gone, store.Settled, store.Lost}
	f.equal(fmt.Sprintf("Settle(%+v)", list), f.settle(q, list...).Outcomes, want)
	f.wantCounts(q, "after a batch that names messages twice", counts{Dead: 1, Bytes: 1})
}

func settleThousand(f *fixture) {
	q := f.queue(store.Settings{})
	list := make([]string, 1000)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	f.send(q, list...)
	r := f.wantClaim(q, 1000, list...)
	done := items(r, store.Done, 0)
	for i := range done {
		done[i].Reason = strings.Repeat("r", i) // up to nearly 1 KiB, and without effect
	}
	for i, outcome := range f.settle(q, done...).Outcomes {
		f.equal(fmt.Sprintf("Settle: outcome %d", i), outcome, store.Settled)
	}
	f.wantCounts(q, "after a thousand acks", counts{})
}

func settleRefuses(f *fixture) {
	q := f.queue(store.Settings{})
	f.send(q, "a")
	done := items(f.wantClaim(q, 1, "a"), store.Done, 0)
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
		_, err := f.store.Settle(f.Context(), store.SettleParams{Queue: c.queue, Revision: c.revision, Items: done})
		f.wantError("Settle in "+c.name, err, c.want)
	}
	f.wantCounts(q, "after refused settles", counts{Leased: 1, Bytes: 1})
}
