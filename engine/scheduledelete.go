package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// DeleteSchedule ends a schedule. Messages it has sent stay. It is durable on return.
func (e *Engine) DeleteSchedule(ctx context.Context, ref Ref, name string) error {
	q, err := e.readRecord(ctx, ref)
	if err != nil {
		return fromStore(err)
	}
	if q == nil {
		return unlisted(ref)
	}
	key := scheduleKey(ref, name)
	for {
		r, err := e.readSchedule(ctx, key)
		if err != nil {
			return fromStore(err)
		}
		if r == nil || r.generation != q.id {
			return unscheduled(ref, name)
		}
		err = e.removeSchedule(ctx, key, r.revision)
		if errors.Is(err, store.ErrConflict) {
			continue // it fired, or someone else changed it since
		}
		if err != nil {
			return fromStore(err)
		}
		return nil
	}
}

// removeSchedule removes the pair if it still has the revision. That it is gone already is nil.
func (e *Engine) removeSchedule(ctx context.Context, key string, rev store.Revision) error {
	err := e.store.Delete(ctx, key, rev)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("delete schedule %s: %w", key, err)
	}
	e.forget(key)
	return nil
}

// removeSchedules removes those of a queue that was deleted. Those it cannot remove are found by [Engine.survey].
func (e *Engine) removeSchedules(ctx context.Context, q *queue) error {
	return e.eachPair(ctx, schedulesOf(q.ref), schedulePage, func(p store.Pair) error {
		r, err := decodeSchedule(p)
		if err != nil {
			return err
		}
		if r.generation != q.id {
			return nil // the name was taken again
		}
		return e.removeSchedule(ctx, p.Key, store.AnyRevision)
	})
}
