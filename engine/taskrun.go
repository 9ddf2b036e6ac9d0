package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// redriveLimit is how many messages one move takes, so that no move holds up others for long.
	redriveLimit = 256
	// redriveBytes bounds their payloads, as the store does; redriveLook those that are looked at for one batch.
	redriveBytes = 4 << 20
	redriveLook  = 16 << 20
	// redriveTime is when looking for one batch pauses.
	redriveTime = 50 * time.Millisecond
	// noteEvery is how often progress is written, at most.
	noteEvery = moment(250 * time.Millisecond)
)

// work gives a run its turn: one batch, and word of it in the store now and then.
func (e *Engine) work(ctx context.Context, r *run, halted bool) {
	var err error
	if !halted && r.record.State == TaskRunning && e.clock.moment() >= r.due {
		err = e.step(ctx, r)
	}
	if ctx.Err() != nil { // what was done is noted as the engine closes, if it is known
		r.recount = r.recount || err != nil
		return
	}
	if err != nil && isFinal(err) {
		r.record.fail(fromStore(err), e.store.Clock())
		err = nil
	}
	r.measure(e.clock.moment())
	over := false
	if err == nil && (halted || e.mustNote(r)) {
		over, err = e.note(ctx, r)
	}
	switch {
	case err != nil:
		e.tellStalled(r.queue, r.id, err)
		e.clock.soonest(r.wake, e.clock.in(taskRetry))
	case over:
		e.tasks.leave(r)
	case r.due > e.clock.moment():
		e.clock.soonest(r.wake, min(r.due, r.noted+moment(taskLease-taskRenew)))
	default:
		e.tasks.add(r)
	}
}

// isFinal says that trying again will not help.
func isFinal(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeNotFound {
		return true
	}
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrTooLarge)
}

// mustNote says whether the store must hear of the run now: at its end, in time for its lease, and before a pause.
func (e *Engine) mustNote(r *run) bool {
	now := e.clock.moment()
	return r.record.State != TaskRunning || now-r.noted >= noteEvery || r.due-now >= noteEvery
}

// note writes the record. over says that this node is done with the task: it is finished, or was cancelled, or someone
// else has taken it.
func (e *Engine) note(ctx context.Context, r *run) (over bool, err error) {
	now := e.store.Clock()
	r.record.Owner, r.record.Until, r.record.LeasedUntil = e.node, now.Wall.Add(taskLease), now.Now+instants(taskLease)
	if r.released {
		r.record.Until, r.record.LeasedUntil = time.Time{}, 0
	}
	for {
		rev, err := e.putTask(ctx, r.key, r.record, r.rev)
		if err == nil {
			r.rev, r.noted = rev, e.clock.moment()
			if r.record.State == TaskRunning {
				return false, nil
			}
			if r.record.CancelledBy == "" { // of a cancelled one whoever cancelled it tells
				e.tellTaskEnded(r.record.shown(e.store.Clock(), r.queue.Tenant, r.id))
			}
			return true, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return false, err
		}
		if over, err := e.giveWay(ctx, r); over || err != nil {
			return over, err
		}
	}
}

// giveWay looks at who has written the record instead. What they say of its end counts, and what this node has moved.
func (e *Engine) giveWay(ctx context.Context, r *run) (over bool, err error) {
	pair, err := e.store.Get(ctx, r.key)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read task %s: %w", r.id, err)
	}
	theirs, err := decodeTask(pair)
	if err != nil {
		return false, err
	}
	if theirs.Owner != e.node {
		return true, nil
	}
	r.rev = pair.Revision
	if theirs.State != TaskRunning {
		r.record.State, r.record.FinishedAt = theirs.State, theirs.FinishedAt
		r.record.CancelledBy, r.record.Error, r.record.ErrorCode = theirs.CancelledBy, theirs.Error, theirs.ErrorCode
	}
	return false, nil
}

// count adds what a move did, and puts the next batch off as the rate demands.
func (r *run) count(moved int, now moment) {
	r.record.Moved += int64(moved)
	r.record.PassMoved += int64(moved)
	if limit := r.record.RateLimit; limit > 0 {
		r.due = max(r.due, now) + moment(float64(moved)/limit*float64(time.Second))
	}
}

// measure notes the mean rate since this node works on the task. The time that the last batch has used up in advance
// counts, so that a limit is met and not exceeded.
func (r *run) measure(now moment) {
	until := max(now, r.due)
	if moved := r.record.Moved - r.before; moved > 0 && until > r.started {
		r.record.Rate = float64(moved) / time.Duration(until-r.started).Seconds()
	}
}

// batch is how many messages to move at a time: with a rate, those of a tenth of a second.
func (r *run) batch() int {
	if r.record.RateLimit == 0 {
		return redriveLimit
	}
	return int(min(max(math.Ceil(r.record.RateLimit/10), 1), redriveLimit))
}
