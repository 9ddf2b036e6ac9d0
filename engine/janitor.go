package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// sweepPause is the least time between two sweeps of one queue that time alone has asked for.
	sweepPause = moment(100 * time.Millisecond)
	// sweepFull is the most a sweep removes, or finds past their time to live, in one call; there may be more.
	sweepFull = 1000
	// janitorRetry is when failed work is tried again.
	janitorRetry = time.Second
)

// runJanitor visits the queues that need a sweep or a move until ctx ends, and removes cooling-off times that have ended.
func (e *Engine) runJanitor(ctx context.Context) {
	e.cooling.nudge()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.cooling.poke:
			e.forgetCooled(ctx)
		case <-e.janitor.poke:
		}
		for q := e.janitor.next(); q != nil && ctx.Err() == nil; q = e.janitor.next() {
			e.visit(ctx, q)
		}
	}
}

// visit does what time has made due in q: one sweep and at most one move, so that no queue keeps the others waiting.
// It wakes nobody: the clock has done so, and a second wake could let a younger waiter pass an older one.
func (e *Engine) visit(ctx context.Context, q *queue) {
	q.swept.Store(int64(e.clock.moment()))
	res, err := e.store.Sweep(ctx, q.id)
	if err != nil {
		e.janitorFailed(ctx, q, fmt.Errorf("sweep %s: %w", q.ref, err))
		return
	}
	e.dueIn(q, res.NextDue)
	if res.Expired > 0 || res.Dead > 0 {
		q.freed()
	}
	e.countExpired(q, res.Expired)
	tell(e.events.Expired, q.ref, res.Expired)
	tell(e.events.Died, q.ref, res.Lapsed)
	if res.Dead > 0 {
		e.bury(ctx, q)
	}
	if max(res.Expired, res.Lapsed) >= sweepFull {
		e.janitor.add(q)
	}
}

// janitorFailed tells of failed work and has it tried again. That a queue is gone is no failure: it was deleted, or
// the next call on it will find out.
func (e *Engine) janitorFailed(ctx context.Context, q *queue, err error) {
	if errors.Is(err, store.ErrGone) || ctx.Err() != nil {
		return
	}
	if e.events.JanitorFailed != nil {
		e.events.JanitorFailed(q.ref, err)
	}
	e.dueIn(q, janitorRetry)
}

// janitorEvent reports work in the background that failed.
func (e *Engine) janitorEvent(ref Ref, err error) {
	if e.events.JanitorFailed != nil {
		e.events.JanitorFailed(ref, err)
	}
}

// dueIn notes that q will be due in d.
func (e *Engine) dueIn(q *queue, d time.Duration) { e.dueAt(q, e.clock.in(d)) }

// dueAt notes that q will be due at a moment. With nobody waiting it may be told up to sweepPause late.
func (e *Engine) dueAt(q *queue, at moment) {
	if q.line.waiting.Load() == 0 {
		at = max(at, moment(q.swept.Load())+sweepPause)
	}
	e.clock.soonest(q.due, at)
}

// ringDue is called by the clock when q is due.
func (e *Engine) ringDue(q *queue) {
	q.line.signal()
	if next := moment(q.swept.Load()) + sweepPause; next > e.clock.moment() {
		e.clock.soonest(q.due, next)
		return
	}
	e.janitor.add(q)
}
