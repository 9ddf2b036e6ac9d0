package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// buryLimit is how many dead messages one move takes, so that no move holds up others for long.
const buryLimit = 256

// allows says whether a queue with this configuration takes the dead messages of another one, by name.
func (d *DeadLetter) allows(source string) bool {
	return d.AllowFrom == nil || slices.Contains(d.AllowFrom, source)
}

// bury moves dead messages of q to its dead-letter queue, the oldest first; without one that takes them they stay,
// parked. What is left over, and what fails, is the janitor's.
func (e *Engine) bury(ctx context.Context, q *queue) {
	to, ok := e.catalog.deadLetterQueue(q)
	if !ok && e.shared() { // another node may have made it, or let it take them
		if name := q.setup.Load().config.DeadLetter.Queue; name != "" {
			_ = e.renew(ctx, Ref{q.ref.Tenant, name}) // they stay parked if it fails
			to, ok = e.catalog.deadLetterQueue(q)
		}
	}
	if !ok {
		return
	}
	res, err := e.moveDead(ctx, q, to)
	if errors.Is(err, store.ErrGone) && e.shared() { // the store may have lost the target, which is in the catalog
		if _, _, err := e.reload(ctx, to.ref, to.setup.Load()); err == nil {
			e.dueIn(q, janitorRetry)
		}
		return
	}
	if err != nil {
		e.janitorFailed(ctx, q, fmt.Errorf("move dead messages of %s to %s: %w", q.ref, to.ref, err))
		return
	}
	if res.Moved == 0 {
		return
	}
	e.dueIn(to, res.NextDue)
	if e.events.DeadLettered != nil {
		e.events.DeadLettered(q.ref, to.ref, res.Moved)
	}
	if res.Next != 0 {
		e.janitor.add(q)
	}
}

// moveDead moves nothing if the queue's choice of a dead-letter queue has changed, which brings the janitor.
func (e *Engine) moveDead(ctx context.Context, q, to *queue) (store.MoveResult, error) {
	same := func() bool {
		now, ok := e.catalog.deadLetterQueue(q)
		return ok && now == to
	}
	res, _, err := e.moveInto(ctx, q, to, same, store.MoveParams{
		Select: store.Selection{States: store.StateDead}, Limit: buryLimit,
	})
	return res, err
}

// moveInto moves within the turn of the target's name, so that the target is not deleted between a look that found it
// empty and its drop. Those who wait for the turn find their messages moved by the one before. Nothing is moved unless
// it still holds then that the messages are to go there.
func (e *Engine) moveInto(ctx context.Context, q, to *queue, still func() bool, p store.MoveParams) (res store.MoveResult, held bool, err error) {
	release, err := e.catalog.turn(ctx, to.ref)
	if err != nil {
		return store.MoveResult{}, false, err
	}
	defer release()
	if !still() {
		return store.MoveResult{}, false, nil
	}
	p.Source, p.Target, p.Label = q.id, to.id, q.ref.Name
	res, err = e.store.Move(ctx, p)
	e.countIn(to, res.Moved)
	if res.Moved > 0 {
		q.freed()
	}
	return res, true, err
}

// buryNow is bury for a call that has just made messages dead: they are in their dead-letter queue when it answers.
// The client's hanging up does not stop it half-way.
func (e *Engine) buryNow(ctx context.Context, q *queue, died int) {
	if died == 0 {
		return
	}
	tell(e.events.Died, q.ref, died)
	e.bury(context.WithoutCancel(ctx), q)
}
