package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// RescheduleRequest says when a message is to be ready. With both set the later counts, with none it is now.
type RescheduleRequest struct {
	// Delay is from now on, at most [MaxDuration].
	Delay *time.Duration
	// DeliverAt is wall-clock time; one that has passed is now.
	DeliverAt *time.Time
}

func (r *RescheduleRequest) validate() *Error {
	if r.Delay != nil && (*r.Delay < 0 || *r.Delay > MaxDuration) {
		return validDuration("delay", *r.Delay, 0, MaxDuration)
	}
	if r.DeliverAt != nil && r.DeliverAt.Year() > lastYear {
		return invalid("deliver_at", fmt.Sprintf("Give a time up to the year %d.", lastYear))
	}
	return nil
}

// item is what makes a message ready then.
func (r *RescheduleRequest) item(seq store.Seq) store.SettleItem {
	i := store.SettleItem{Seq: seq, Token: store.AnyToken, Target: store.Ready}
	if r.Delay != nil {
		i.After = *r.Delay
	}
	if r.DeliverAt != nil {
		i.NotBefore = *r.DeliverAt
	}
	return i
}

// Reschedule makes a ready or delayed message ready at another time, and shows it. A message that is leased or dead is a
// conflict: it belongs to its consumer, or is not delivered at all. One that was ready for so short a time that it is
// gone by now is shown as removed.
func (e *Engine) Reschedule(ctx context.Context, ref Ref, id MessageID, to RescheduleRequest) (Looked, error) {
	if err := to.validate(); err != nil {
		return Looked{}, err
	}
	var q *queue
	var was store.View
	var outcome store.Outcome
	err := e.pick(ctx, ref, id, func(at *queue, s *setup, v *store.View) (store.Outcome, error) {
		if err := reschedulable(v.State); err != nil {
			return 0, err
		}
		var err error
		q, was = at, *v
		outcome, err = e.settleOne(ctx, q, s, to.item(v.Seq))
		return outcome, err
	})
	if err != nil {
		return Looked{}, err
	}
	if outcome == store.Died {
		q.freed()
		e.buryNow(ctx, q, 1)
		return Looked{}, errUsedUp
	}
	found, err := e.Look(ctx, ref, id)
	if err == nil {
		return found, nil
	}
	if ErrorOf(err).Code != CodeNotFound {
		return Looked{}, withOutcome(Applied, err)
	}
	if found, err = e.looked(q, &was); err != nil {
		return Looked{}, withOutcome(Applied, err)
	}
	found.State, found.Due = StateRemoved, time.Time{}
	return found, nil
}

var errUsedUp = &Error{
	Code: CodeConflict, Outcome: Applied,
	Detail: "The message had used up its deliveries and is dead by this; redrive it to have it delivered.",
}

func reschedulable(s store.States) error {
	switch s {
	case store.StateLeased:
		return conflict("", "The message is leased: wait until its lease ends, or nack it with its receipt.")
	case store.StateDead:
		return conflict("", "The message is dead and not delivered from here; redrive it instead.")
	default:
		return nil
	}
}

// maxPicks is how often a message that changes hands all the time is looked up for one call.
const maxPicks = 4

// pick finds a message by its id and settles it by what was seen of it. When the message has changed since the look,
// so that the outcome is none of Settled and Died, it looks again.
func (e *Engine) pick(ctx context.Context, ref Ref, id MessageID, settle func(*queue, *setup, *store.View) (store.Outcome, error)) error {
	return e.follow(ctx, ref, func(q *queue, s *setup) error {
		for range maxPicks {
			v, err := e.locate(ctx, q, id)
			if errors.Is(err, store.ErrNotFound) || err == nil && v.State == 0 {
				return noMessage(ref, id)
			}
			if err != nil {
				return err
			}
			switch outcome, err := settle(q, s, &v); {
			case err != nil:
				return err
			case outcome == store.Settled || outcome == store.Died:
				return nil
			}
		}
		return conflict("", "The message is changing hands; repeat the request.")
	})
}

// settleOne settles one message and says what became of it.
func (e *Engine) settleOne(ctx context.Context, q *queue, s *setup, item store.SettleItem) (store.Outcome, error) {
	res, err := e.store.Settle(ctx, store.SettleParams{
		Queue: q.id, Revision: uint64(s.revision), Items: []store.SettleItem{item},
		Acks: s.copies(""),
	})
	if err != nil {
		return 0, fmt.Errorf("settle message %d of %s: %w", item.Seq, q.ref, err)
	}
	e.dueIn(q, res.NextDue)
	return res.Outcomes[0], nil
}
