package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// pause queue [produce] [consume] [for=]: neither means both.
func (s *session) pause(c command) string {
	var until time.Time
	if d := s.duration(c, "for"); d != nil {
		until = s.now().Add(*d)
	}
	produce, consume := sides(c)
	return s.paused(s.engine.PauseQueue(s.Context(), s.ref(c), produce, consume, until))
}

// resume queue [produce] [consume]: neither means both.
func (s *session) resume(c command) string {
	produce, consume := sides(c)
	return s.paused(s.engine.ResumeQueue(s.Context(), s.ref(c), produce, consume))
}

func sides(c command) (produce, consume bool) {
	produce, consume = slices.Contains(c.words[1:], "produce"), slices.Contains(c.words[1:], "consume")
	return produce || !consume, consume || !produce
}

// is-paused queue: what of it, and for how long.
func (s *session) isPaused(c command) string {
	return s.paused(s.engine.Queue(s.Context(), s.ref(c)))
}

func (s *session) paused(q engine.Queue, err error) string {
	if err != nil {
		return problem(err)
	}
	var what []string
	note := func(side string, paused bool, until time.Time) {
		switch {
		case !paused:
		case until.IsZero():
			what = append(what, side)
		default:
			what = append(what, fmt.Sprintf("%s for %v", side, until.Sub(s.now()).Round(time.Second)))
		}
	}
	note("produce", q.Paused.Produce, q.Paused.ProduceUntil)
	note("consume", q.Paused.Consume, q.Paused.ConsumeUntil)
	if what == nil {
		return "goes on"
	}
	return "paused: " + strings.Join(what, ", ")
}

func (b *bundle) pause(q engine.Ref, produce, consume bool, until time.Time) {
	b.Helper()
	if _, err := b.engine.PauseQueue(b.Context(), q, produce, consume, until); err != nil {
		b.Fatalf("pause %s: %v", q, err)
	}
}

func (b *bundle) resume(q engine.Ref) {
	b.Helper()
	if _, err := b.engine.ResumeQueue(b.Context(), q, true, true); err != nil {
		b.Fatalf("resume %s: %v", q, err)
	}
}

func waitersAreWokenByResume(b *bundle) {
	b.put(ref)
	b.pause(ref, false, true, time.Time{})
	first, second, third := b.wait(ref, time.Minute), b.wait(ref, time.Minute), b.wait(ref, time.Minute)
	b.send(ref, "a", "b")
	b.advance(7 * time.Second)
	b.wantCounts(ref, engine.Counts{Ready: 2})
	b.resume(ref)
	if b.echoing {
		// A resume is announced to all nodes, this one too, so two waiters may be woken at once and either be faster.
		b.send(ref, "c")
		wantEach(7*time.Second, []string{"a", "b", "c"}, first, second, third)
		return
	}
	first.want(7*time.Second, "a")
	second.want(7*time.Second, "b")
	b.send(ref, "c")
	third.want(7*time.Second, "c")
}

// waiterIsWokenByEndOfPause has other things happen in the queue while it is paused, which must not stop that clock.
func waiterIsWokenByEndOfPause(b *bundle) {
	b.put(ref)
	b.send(ref, "a")
	b.pause(ref, false, true, time.Now().Add(30*time.Second))
	w := b.wait(ref, time.Minute)
	in := 5 * time.Second
	if _, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{Delay: &in}}}); err != nil {
		b.Fatal(err)
	}
	b.advance(10 * time.Second)
	b.send(ref, "b")
	w.want(30*time.Second, "a")
}

func waiterIsPausedWhileItWaits(b *bundle) {
	b.put(ref)
	w := b.wait(ref, time.Minute)
	b.pause(ref, false, true, time.Time{})
	b.send(ref, "a")
	w.want(time.Minute)
	b.wantCounts(ref, engine.Counts{Ready: 1})
}

func deliveriesAreSettledWhilePaused(b *bundle) {
	b.put(ref)
	b.send(ref, "acked", "nacked", "extended")
	acked, nacked, extended := b.one(ref), b.one(ref), b.one(ref)
	b.pause(ref, true, true, time.Time{})
	b.ack(ref, acked.Receipt)
	b.nack(ref, nacked.Receipt, 0)
	b.extend(ref, extended.Receipt, time.Hour)
	b.wantCounts(ref, engine.Counts{Ready: 1, Leased: 1})
}

func deadLettersMoveIntoAPausedQueue(b *bundle) {
	grave := named("grave")
	b.put(grave)
	b.put(ref, deadLetters("grave", 1))
	b.pause(grave, true, true, time.Time{})
	b.send(ref, "m")
	b.nack(ref, b.one(ref).Receipt, 0)
	b.wantCounts(grave, engine.Counts{Ready: 1})
}

// deaf is a store of which another engine is told what becomes ready.
type deaf struct{ store.Store }

func (deaf) Watch(func(store.QueueID)) {}

// anotherNodePausesAndResumes has two engines on one store.
func anotherNodePausesAndResumes(b *bundle) {
	b.put(ref)
	other := b.another()
	pause := func() {
		b.Helper()
		if _, err := other.PauseQueue(b.Context(), ref, true, true, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
	refused := func() {
		b.Helper()
		_, err := b.engine.Send(b.Context(), ref, engine.SendRequest{Messages: []engine.Message{{}}})
		b.wantCode(err, engine.CodePaused)
		if got := b.receive(ref, 1).Messages; len(got) != 0 {
			b.Errorf("receive from a queue that another node has paused: got %d messages", len(got))
		}
	}
	b.send(ref, "a")
	pause()
	refused()
	refused() // now from memory
	if _, err := other.ResumeQueue(b.Context(), ref, true, true); err != nil {
		b.Fatal(err)
	}
	b.send(ref, "b")
	pause()
	refused()
	if _, err := other.ResumeQueue(b.Context(), ref, true, true); err != nil {
		b.Fatal(err)
	}
	b.one(ref)
	b.one(ref)
}

func pauseChangesTheETagOnly(b *bundle) {
	was := b.put(ref)
	b.pause(ref, true, false, time.Time{})
	now, err := b.engine.Queue(b.Context(), ref)
	if err != nil || now.ETag == was.ETag {
		b.Errorf("ETag after a pause: got %s, %v, want another than %s", now.ETag, err, was.ETag)
	}
	b.pause(ref, true, false, time.Time{})
	again, err := b.engine.Queue(b.Context(), ref)
	if err != nil || again.ETag != now.ETag {
		b.Errorf("ETag after the same pause again: got %s, %v, want %s", again.ETag, err, now.ETag)
	}
	if changed := b.put(ref, func(c *engine.QueueConfig) { c.Delay = time.Second }); !changed.Paused.Produce {
		b.Error("a change of the configuration ended the pause")
	}
}
