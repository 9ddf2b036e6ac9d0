package engine

import (
	"context"
	"fmt"
)

const (
	// A listing of schedules is read in small parts, since their messages come with it, and ends early when it has grown
	// large.
	schedulePage      = 32
	maxScheduleAnswer = 4 << 20
)

// Schedule shows one schedule.
func (e *Engine) Schedule(ctx context.Context, ref Ref, name string) (Schedule, error) {
	q, err := e.readRecord(ctx, ref)
	if err != nil {
		return Schedule{}, fromStore(err)
	}
	if q == nil {
		return Schedule{}, unlisted(ref)
	}
	r, err := e.readSchedule(ctx, scheduleKey(ref, name))
	if err != nil {
		return Schedule{}, fromStore(err)
	}
	if r == nil || r.generation != q.id {
		return Schedule{}, unscheduled(ref, name)
	}
	return e.shownSchedule(r), nil
}

// Schedules lists the queue's schedules whose name comes after the given one, by name, at most limit (from 1 to 1,000;
// anything else means 1,000) and no more than about 4 MiB of messages. With more set there are others after the last.
func (e *Engine) Schedules(ctx context.Context, ref Ref, after string, limit int) (all []Schedule, more bool, err error) {
	if limit < 1 || limit > pageSize {
		limit = pageSize
	}
	q, err := e.readRecord(ctx, ref)
	if err != nil {
		return nil, false, fromStore(err)
	}
	if q == nil {
		return nil, false, unlisted(ref)
	}
	start := ""
	if after != "" {
		start = scheduleKey(ref, after)
	}
	for size := int64(0); len(all) < limit && size < maxScheduleAnswer; {
		want := min(limit-len(all), schedulePage)
		pairs, err := e.store.List(ctx, schedulesOf(ref), start, want)
		if err != nil {
			return nil, false, fromStore(fmt.Errorf("list the schedules of %s: %w", ref, err))
		}
		for _, p := range pairs {
			r, err := decodeSchedule(p)
			if err != nil {
				return nil, false, fromStore(err)
			}
			if r.generation == q.id {
				all = append(all, e.shownSchedule(r))
				size += messageSize(&r.spec.Message)
			}
		}
		if len(pairs) < want {
			return all, false, nil
		}
		start = pairs[len(pairs)-1].Key
	}
	return all, true, nil
}

func (e *Engine) shownSchedule(r *scheduleRecord) Schedule {
	s := Schedule{Queue: r.queue, Name: r.name, ScheduleSpec: r.spec, LastFire: r.last}
	rule, err := r.rule()
	if err != nil {
		return s // the zones of this machine have changed; it is told where it fails to fire
	}
	next, now := r.next, e.wall()
	if other, moved := r.moved(e.store.Clock()); moved && !e.shared() {
		next, rule.anchor = other, other
	} else if !next.After(now) {
		next = rule.after(now)
	}
	for ; len(s.Upcoming) < upcoming && !next.IsZero(); next = rule.after(next) {
		s.Upcoming = append(s.Upcoming, next)
	}
	return s
}

func unscheduled(ref Ref, name string) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: "Queue " + ref.Name + " has no schedule named " + name + "; the list of its schedules has all names.",
	}
}
