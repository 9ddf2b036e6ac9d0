package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// pauseRetry is when a refused sender may look again if nobody knows when the pause ends.
const pauseRetry = 30 * time.Second

// Pause says what a queue does not do for now. Acks, nacks and extends go on, what was accepted before becomes ready in
// its time, and messages move in and out. Recurring schedules send when the queue does again.
type Pause struct {
	// Produce refuses sends; Consume lets receives find nothing.
	Produce, Consume bool
	// These end the pause of one side by itself; zero means that only a resume ends it.
	ProduceUntil, ConsumeUntil time.Time
}

// PauseQueue pauses the sides that are true until a time; zero means until a resume. The other side stays as it is. It
// is durable on return, and receives that begin after it find nothing if consume is true.
func (e *Engine) PauseQueue(ctx context.Context, ref Ref, produce, consume bool, until time.Time) (Queue, error) {
	if !produce && !consume {
		return Queue{}, invalid("produce", "Set produce or consume to true, or leave both out to pause both.")
	}
	now := e.wall()
	if !until.IsZero() && (!until.After(now) || until.Sub(now) > MaxDuration) {
		return Queue{}, invalid("until", "Give a time in the future, at most 100 years away, or leave it out to pause until a resume.")
	}
	return e.repause(ctx, ref, func(p Pause) Pause {
		if produce {
			p.Produce, p.ProduceUntil = true, until.UTC()
		}
		if consume {
			p.Consume, p.ConsumeUntil = true, until.UTC()
		}
		return p
	})
}

// ResumeQueue ends the pause of the sides that are true; waiting receives go on at once. What is not paused stays so.
func (e *Engine) ResumeQueue(ctx context.Context, ref Ref, produce, consume bool) (Queue, error) {
	if !produce && !consume {
		return Queue{}, invalid("produce", "Set produce or consume to true, or leave both out to resume both.")
	}
	return e.repause(ctx, ref, func(p Pause) Pause {
		if produce {
			p.Produce, p.ProduceUntil = false, time.Time{}
		}
		if consume {
			p.Consume, p.ConsumeUntil = false, time.Time{}
		}
		return p
	})
}

// repause replaces the pause of a queue. Its revision rises with that, so that all nodes notice.
func (e *Engine) repause(ctx context.Context, ref Ref, next func(was Pause) Pause) (Queue, error) {
	_, err := e.replaceRecord(ctx, ref, Condition{}, func(was *record) (record, error) {
		if was == nil {
			return record{}, unlisted(ref)
		}
		r := *was
		r.pause = next(was.pause.at(e.wall()))
		return r, nil
	})
	if err != nil {
		return Queue{}, err
	}
	if e.events.Configured != nil {
		e.events.Configured(ref)
	}
	q, err := e.Queue(ctx, ref)
	return q, withOutcome(Applied, err)
}

// at is what is left of the pause by now.
func (p Pause) at(now time.Time) Pause {
	if !p.ProduceUntil.IsZero() && !now.Before(p.ProduceUntil) {
		p.Produce, p.ProduceUntil = false, time.Time{}
	}
	if !p.ConsumeUntil.IsZero() && !now.Before(p.ConsumeUntil) {
		p.Consume, p.ConsumeUntil = false, time.Time{}
	}
	return p
}

func (p Pause) equal(o Pause) bool {
	return p.Produce == o.Produce && p.Consume == o.Consume &&
		p.ProduceUntil.Equal(o.ProduceUntil) && p.ConsumeUntil.Equal(o.ConsumeUntil)
}

// present gives q and s if they are what the catalog has, or what has taken their place. A pause is looked at so before
// it keeps anyone from anything, since another node may have ended it, which no refusal of the store would tell.
func (e *Engine) present(ctx context.Context, q *queue, s *setup) (*queue, *setup, error) {
	r, err := e.readRecord(ctx, q.ref)
	if err != nil {
		return nil, nil, fromStore(err)
	}
	if r != nil && r.id == q.id && r.revision == s.revision {
		return q, s, nil
	}
	return e.reload(ctx, q.ref, s)
}

// producing gives q and s, or what has taken their place, if messages may be sent; else the refusal.
func (e *Engine) producing(ctx context.Context, q *queue, s *setup) (*queue, *setup, error) {
	if !s.pause.Produce || !s.pause.at(e.wall()).Produce {
		return q, s, nil
	}
	q, s, err := e.present(ctx, q, s)
	if err != nil {
		return nil, nil, err
	}
	now := e.wall()
	if p := s.pause.at(now); p.Produce {
		return nil, nil, paused(q.ref, p.ProduceUntil, now)
	}
	return q, s, nil
}

func paused(ref Ref, until, now time.Time) *Error {
	if until.IsZero() {
		return &Error{
			Code: CodePaused, Outcome: NotApplied, RetryAfter: pauseRetry,
			Detail: "Queue " + ref.Name + " is paused for sends; repeat the request after it was resumed.",
		}
	}
	return &Error{
		Code: CodePaused, Outcome: NotApplied, RetryAfter: max(until.Sub(now), time.Second),
		Detail: fmt.Sprintf("Queue %s is paused for sends until %s; repeat the request then.", ref.Name, until.Format(time.RFC3339)),
	}
}

// held says whether the queue is paused for receives; then there is nothing to claim before the pause ends. It looks at
// the catalog after the signals were counted, so that the signal of a later resume is not lost.
func (t *try) held(ctx context.Context) (bool, error) {
	e := t.engine
	for range maxReloads {
		now := e.wall()
		p := t.setup.pause.at(now)
		if !p.Consume {
			return false, nil
		}
		q, s, err := e.present(ctx, t.queue, t.setup)
		if err != nil {
			return false, err
		}
		if s == t.setup {
			t.got, t.due = store.ClaimResult{}, never
			if !p.ConsumeUntil.IsZero() {
				t.due = e.clock.in(p.ConsumeUntil.Sub(now))
			}
			return true, nil
		}
		t.queue, t.setup, t.seen = q, s, q.line.seen()
	}
	return false, fromStore(fmt.Errorf("receive from %s, which is paused and resumed all the time: %w", t.ref, store.ErrStaleConfig))
}
