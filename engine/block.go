package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// blockWait is how long a send waits for room in a queue whose receives do not wait.
	blockWait = 30 * time.Second
	// A send that waits for room is woken by what this engine does to make some. Another engine on the same store, or
	// time, may make room, too, so it also looks by itself, less and less often.
	firstBlockPause = 50 * time.Millisecond
	lastBlockPause  = time.Second
)

// blocked is a send that may have to wait for room. It belongs to one goroutine.
type blocked struct {
	engine *Engine
	// told is called before the first wait, unless it is nil.
	told func()

	queue *queue // the one last looked at
	seen  uint64 // the signals of its room before that

	// The rest is set by the first wait.
	waiter *waiter
	until  moment
	pause  time.Duration
}

// fits says whether an empty queue has room for all entries but the duplicates.
func fits(entries []store.Entry, all []store.Fate, l *Limits) bool {
	messages, bytes := int64(0), int64(0)
	for i := range entries {
		if all[i].Verdict != store.Duplicate {
			messages++
			bytes += int64(entries[i].Size)
		}
	}
	return (l.MaxMessages == 0 || messages <= l.MaxMessages) && (l.MaxBytes == 0 || bytes <= l.MaxBytes)
}

// look is called before each attempt to send.
func (b *blocked) look(q *queue) { b.queue, b.seen = q, q.room.seen() }

// wait returns when there may be room: true to try again, false when the time is up. While it waits nothing is sent.
func (b *blocked) wait(ctx context.Context, s *setup) (again bool, err error) {
	e, room := b.engine, &b.queue.room
	now, waited := e.clock.moment(), b.waiter != nil
	if !waited {
		b.begin(now, s)
	}
	if now >= b.until || e.draining.Load() {
		return false, nil
	}
	if !room.enter(b.waiter, b.seen, waited) {
		return true, nil
	}
	w := b.waiter // not b, which may so stay on the stack of a send that does not wait
	wake := newAlarm(func() { room.dismiss(w) })
	e.clock.soonest(wake, min(b.until, now+moment(b.pause)))
	defer e.clock.off(wake)
	if e.draining.Load() { // looked at in line, so that Drain either sees the waiter or is seen
		room.dismiss(b.waiter)
	}
	select {
	case <-b.waiter.verdict:
		b.pause = min(2*b.pause, lastBlockPause)
		return true, nil
	case <-ctx.Done():
		room.leave(b.waiter)
		return false, fromStore(fmt.Errorf("wait for room in %s: %w", b.queue.ref, ctx.Err()))
	}
}

func (b *blocked) begin(now moment, s *setup) {
	wait := s.config.Wait
	if wait == 0 {
		wait = blockWait
	}
	b.waiter = &waiter{verdict: make(chan verdict, 1)}
	b.until, b.pause = now+moment(wait), firstBlockPause
	if b.told != nil {
		b.told()
	}
}

// end lets the next in line try: there may be more room than this send took, or it did not take what it was woken for.
func (b *blocked) end() {
	if b.waiter != nil {
		b.queue.room.signal()
	}
}

// freed is called after messages left the queue.
func (q *queue) freed() {
	if q.setup.Load().config.Limits.Overflow == OverflowBlock {
		q.room.signal()
	}
}

// acked is freed for outcomes of a settlement that was to remove messages.
func (e *Engine) acked(q *queue, outcomes []store.Outcome) int {
	n := count(outcomes, store.Settled)
	if n > 0 {
		q.freed()
	}
	e.countAcked(q, n)
	return n
}
