package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// surveyEvery is how often all schedules are looked at, whatever the alarms say: the wall clock may have been put
	// forward, and another node may have made a schedule and be gone.
	surveyEvery = time.Minute
	// surveyRetry is when that is tried again after a failure.
	surveyRetry = time.Second
	// visitsAtOnce is how many schedules are looked at at the same time, so that their writes share syncs.
	visitsAtOnce = 64
)

// runSchedules sends what is due until ctx ends. Several engines on one store may do so at the same time: each fire time
// has an idempotency key of its own, so that it is sent once, and the record moves on by compare-and-set. A crash between
// the two repeats the send as a duplicate.
func (e *Engine) runSchedules(ctx context.Context) {
	e.survey(ctx, e.wall())
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.timetable.poke:
		}
		for ctx.Err() == nil {
			due, seeAll := e.timetable.next(visitsAtOnce)
			if seeAll {
				e.survey(ctx, time.Time{})
				continue
			}
			if len(due) == 0 {
				break
			}
			var visits sync.WaitGroup
			for _, v := range due {
				visits.Go(func() {
					if err := e.visitSchedule(ctx, v.appointment, v.noticed); err != nil {
						v.failures++
						e.scheduleFailed(ctx, v.key, err)
						e.expect(v.appointment, e.wall().Add(v.pause()))
					}
				})
			}
			visits.Wait()
		}
	}
}

// survey reads all records and expects their fire times. What was due more than a minute before the start, if that is
// given, was missed.
func (e *Engine) survey(ctx context.Context, start time.Time) {
	again := surveyEvery
	err := e.eachPair(ctx, schedulePrefix, schedulePage, func(p store.Pair) error {
		if err := e.expectRecord(p, start); err != nil {
			e.scheduleFailed(ctx, p.Key, err) // the others go on
		}
		return nil
	})
	if err != nil {
		e.scheduleFailed(ctx, schedulePrefix, fmt.Errorf("read the schedules: %w", err))
		again = surveyRetry
	}
	e.clock.soonest(e.timetable.survey, e.clock.in(again))
}

// expectRecord has a schedule looked at when its record says.
func (e *Engine) expectRecord(p store.Pair, start time.Time) error {
	r, err := decodeSchedule(p)
	if err != nil {
		return err
	}
	a, fresh := e.timetable.appointment(p.Key)
	if fresh && !r.next.After(start) {
		a.before = start.Add(-missedAfter)
	}
	at := r.next
	if now := e.store.Clock(); e.moves(r, now) {
		at = e.wall() // to be written
	}
	if q, ok := e.catalog.byName(r.queue); !ok || q.id != r.generation {
		at = start // its queue is gone, or another node has made it
	}
	e.expect(a, at)
	return nil
}

// visitSchedule looks at a schedule whose time had come, by what was known of it, when that was noticed.
func (e *Engine) visitSchedule(ctx context.Context, a *appointment, noticed time.Time) error {
	r, err := e.readSchedule(ctx, a.key)
	if err != nil {
		return err
	}
	if r == nil {
		e.forget(a.key)
		return nil
	}
	q, err := e.readRecord(ctx, r.queue)
	if err != nil {
		return err
	}
	if q == nil || q.id != r.generation {
		err := e.removeSchedule(ctx, a.key, r.revision)
		if errors.Is(err, store.ErrConflict) {
			e.expect(a, e.wall())
			return nil
		}
		return err
	}
	now := e.store.Clock()
	if next, moved := r.moved(now); moved && e.doubtsFireTimes(now) {
		return e.moveSchedule(ctx, a, r, now, next)
	}
	if r.next.After(now.Wall) {
		a.settle()
		e.expect(a, r.next)
		return nil
	}
	return e.fire(ctx, a, r, q, noticed)
}

// moves says whether a record's fire time is to be replaced.
func (e *Engine) moves(r *scheduleRecord, now store.Clock) bool {
	_, moved := r.moved(now)
	return moved && e.doubtsFireTimes(now)
}

// moveSchedule writes that another fire time is next, since the wall clock was set.
func (e *Engine) moveSchedule(ctx context.Context, a *appointment, r *scheduleRecord, now store.Clock, next time.Time) error {
	r.next = next
	if rule, err := r.rule(); err == nil && r.due == 0 {
		r.expects(now, rule, next)
	}
	r.turn++
	a.settle()
	a.before = time.Time{}
	err := e.putSchedule(ctx, r)
	if errors.Is(err, store.ErrConflict) {
		e.expect(a, now.Wall) // another node was faster, or it was changed
		return nil
	}
	if err == nil {
		e.expect(a, r.next)
	}
	return err
}

// scheduleFailed tells of what will be tried again.
func (e *Engine) scheduleFailed(ctx context.Context, key string, err error) {
	if e.events.ScheduleFailed == nil || ctx.Err() != nil {
		return
	}
	ref, name, _ := scheduleOfKey(key) // both are empty if it is about all of them
	e.events.ScheduleFailed(ref, name, err)
}
