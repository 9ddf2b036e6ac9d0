package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// missedAfter is how late a fire time is noticed that counts as missed.
	missedAfter = time.Minute
	// A send that failed is repeated after the first pause, then after twice as long each time, up to the last.
	firstFirePause = time.Second
	lastFirePause  = 30 * time.Second
	// fireMargin is how long the key of a send is remembered beyond the next fire time. Only until then may it be
	// repeated; the margin is for wall clocks that disagree or are put back.
	fireMargin = 24 * time.Hour
)

// fire deals with the first fire time that is due, or with all that were missed. Whether one was missed is decided by when
// it was noticed, so that those that have to wait for many others are not.
func (e *Engine) fire(ctx context.Context, a *appointment, r *scheduleRecord, q *record, noticed time.Time) error {
	rule, refused := r.rule()
	if refused != nil {
		return refused
	}
	due, late := r.next, !a.inTime(r.next, noticed)
	if late {
		due = rule.latest(due, later(a.before, noticed.Add(-missedAfter)))
	}
	following, now := rule.after(due), e.wall()
	var missed error
	switch {
	case due.Equal(a.tried) && a.reason != nil && !following.After(now):
		missed = fmt.Errorf("fire time %s missed: %w", stamp(due), a.reason)
	case !late || r.spec.Missed == MissedOnce:
	default:
		missed = fmt.Errorf("fire times from %s to %s missed: no server was there to notice them in time", stamp(r.next), stamp(due))
	}
	if missed == nil {
		if sent := e.tryFire(ctx, a, r, q, due, following); !sent {
			e.expect(a, earlier(now.Add(a.pause()), following))
			return nil
		}
		r.last = due
	}
	r.expects(e.store.Clock(), rule, following)
	err := e.putSchedule(ctx, r)
	if errors.Is(err, store.ErrConflict) {
		e.expect(a, now) // another node was faster, or it was changed
		return nil
	}
	if err != nil {
		return err
	}
	if missed != nil {
		e.scheduleFailed(ctx, a.key, missed)
	}
	a.settle()
	e.expect(a, r.next)
	return nil
}

// inTime says whether a fire time was noticed in time, or is still being sent.
func (a *appointment) inTime(due, noticed time.Time) bool {
	return due.Equal(a.tried) || due.After(a.before) && noticed.Sub(due) <= missedAfter
}

// pause is how long to wait after the last failure.
func (a *appointment) pause() time.Duration {
	return min(firstFirePause<<min(max(a.failures-1, 0), 10), lastFirePause)
}

// settle forgets failures.
func (a *appointment) settle() { a.tried, a.reason, a.failures = time.Time{}, nil, 0 }

// tryFire sends and keeps the reason if that fails.
func (e *Engine) tryFire(ctx context.Context, a *appointment, r *scheduleRecord, q *record, fire, following time.Time) (sent bool) {
	if !fire.Equal(a.tried) {
		a.settle()
		a.tried = fire
	}
	if a.reason = e.sendScheduled(ctx, r, q, fire, following); a.reason != nil {
		a.failures++
		return false
	}
	return true
}

// sendScheduled sends the message of one fire time, unless that was done already.
func (e *Engine) sendScheduled(ctx context.Context, r *scheduleRecord, q *record, fire, following time.Time) error {
	m := r.spec.Message.stamped(r.name, fire)
	key := r.id + "@" + strconv.FormatInt(fire.Unix(), 10)
	if r.turn > 0 {
		key += "@" + strconv.FormatUint(r.turn, 10)
	}
	if m.DedupID == "" && q.config.Dedup.ContentBased {
		m.DedupID = key // the same content is meant to be sent again
	}
	// To wait for room would keep all other schedules waiting, too.
	full := false
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := e.Send(ctx, r.queue, SendRequest{
		Messages: []Message{m},
		Key:      &IdempotencyKey{Path: "schedule", Key: key},
		Waits:    func() { full = true; cancel() },
		remember: following.Sub(fire) + fireMargin,
	})
	switch {
	case full:
		return errQueueWasFull
	case err != nil && ErrorOf(err).Code == CodeIdempotencyKeyReused:
		return nil // it was sent, and the schedule's message was changed before the record moved on
	case err != nil:
		return err
	case answer.Outcomes[0].Err != nil:
		return answer.Outcomes[0].Err
	}
	return nil
}

var errQueueWasFull = errors.New("the queue is full")

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
