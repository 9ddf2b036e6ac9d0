package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// PutSchedule creates the schedule or replaces what it says; created says which. As long as cron expression and zone stay
// the same its fire times do, too, however often it is put. It is durable on return.
func (e *Engine) PutSchedule(ctx context.Context, ref Ref, name string, spec ScheduleSpec) (s Schedule, created bool, err error) {
	if err := firstError(validRef(ref), validScheduleName(name)); err != nil {
		return Schedule{}, false, err
	}
	if spec.Zone == "" {
		spec.Zone = DefaultZone
	}
	if spec.Missed == "" {
		spec.Missed = MissedSkip
	}
	spec.Cron = strings.TrimSpace(spec.Cron)
	rule, refused := parseRule(spec.Cron, spec.Zone)
	if refused != nil {
		return Schedule{}, false, refused
	}
	if spec.Missed != MissedSkip && spec.Missed != MissedOnce {
		return Schedule{}, false, invalid("missed", "Give skip or once.")
	}
	q, err := e.readRecord(ctx, ref)
	if err != nil {
		return Schedule{}, false, fromStore(err)
	}
	if q == nil {
		return Schedule{}, false, notFound(ref)
	}
	if err := e.validateScheduled(&spec.Message, name, &q.config); err != nil {
		return Schedule{}, false, err
	}
	for {
		r, created, err := e.tryPutSchedule(ctx, ref, name, q.id, &spec, rule)
		switch {
		case errors.Is(err, store.ErrConflict):
			continue // it fired, or someone else changed it since
		case err != nil:
			return Schedule{}, false, fromStore(err)
		}
		a, _ := e.timetable.appointment(scheduleKey(ref, name))
		e.expect(a, r.next)
		return e.shownSchedule(r), created, nil
	}
}

func (e *Engine) tryPutSchedule(ctx context.Context, ref Ref, name string, generation store.QueueID, spec *ScheduleSpec, rule rule) (*scheduleRecord, bool, error) {
	was, err := e.readSchedule(ctx, scheduleKey(ref, name))
	if err != nil {
		return nil, false, err
	}
	r := scheduleRecord{queue: ref, name: name, generation: generation, spec: *spec}
	if was != nil {
		r.revision = was.revision
	}
	created := was == nil || was.generation != generation
	now := e.wall()
	switch {
	case created:
		id := make([]byte, 16)
		if err := e.random.secret(id); err != nil {
			return nil, false, fmt.Errorf("choose an id for schedule %s of %s: %w", name, ref, err)
		}
		r.id = hex.EncodeToString(id)
		r.expects(e.store.Clock(), rule, rule.after(now))
	case was.spec.Cron == spec.Cron && was.spec.Zone == spec.Zone:
		r.id, r.next, r.last, r.turn, r.due = was.id, was.next, was.last, was.turn, was.due
	default:
		r.id, r.last, r.turn = was.id, was.last, was.turn
		r.expects(e.store.Clock(), rule, rule.after(later(now, was.last)))
	}
	if r.next.IsZero() {
		return nil, false, invalidCron("It would never fire: no day is like that.")
	}
	return &r, created, e.putSchedule(ctx, &r)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
