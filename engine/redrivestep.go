package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// errAgain: a queue turned out to be another one than this node thought, which it knows by now.
var errAgain = errors.New("the queues have changed")

// step moves one batch. The task makes passes over the messages there were at its start, and is done when a pass has
// moved none: what was leased when a pass came by may have come back since.
func (e *Engine) step(ctx context.Context, r *run) error {
	q, err := e.redriveSource(ctx, r)
	if err != nil {
		return err
	}
	if r.recount {
		if err := e.recount(ctx, q, r); err != nil {
			return err
		}
		r.recount = false
	}
	next, err := e.redriveBatch(ctx, q, r)
	if errors.Is(err, errAgain) {
		return nil
	}
	if err != nil {
		return e.unlessAllMoved(ctx, q, r, err)
	}
	if r.record.Cursor = next; next == 0 {
		return e.endPass(ctx, q, r)
	}
	return nil
}

// unlessAllMoved is err, unless it says that the target is gone and there is nothing left to move there: then the task is
// done.
func (e *Engine) unlessAllMoved(ctx context.Context, q *queue, r *run, err error) error {
	if !isFinal(err) || fromStore(err).Code != CodeNotFound {
		return err
	}
	left, looked := e.planRedrive(ctx, q, r.sieve, r.record.To)
	if looked != nil || left.total+left.skipped > 0 {
		return err
	}
	r.record.finish(TaskDone, e.store.Clock())
	return nil
}

// endPass ends the task if the pass has moved none, and none that it met before may come back.
func (e *Engine) endPass(ctx context.Context, q *queue, r *run) error {
	if r.record.PassMoved == 0 {
		if err := e.allConcluded(ctx, q); err != nil {
			r.recount = true
			return err
		}
		r.record.finish(TaskDone, e.store.Clock())
	}
	r.record.Skipped = r.record.PassSkipped
	r.record.PassMoved, r.record.PassSkipped = 0, 0
	return nil
}

// allConcluded is an error as long as messages are on their way out of a queue: they may come back, and are in no count.
func (e *Engine) allConcluded(ctx context.Context, q *queue) error {
	stats, err := e.store.Stats(ctx, q.id)
	if err != nil {
		return e.again(ctx, fmt.Errorf("count %s: %w", q.ref, err), q)
	}
	if stats.Moving > 0 {
		return fmt.Errorf("%w: messages of %s are still on their way to another queue", store.ErrUnavailable, q.ref)
	}
	return nil
}

// redriveSource is the queue that the task was started on.
func (e *Engine) redriveSource(ctx context.Context, r *run) (*queue, error) {
	q, _, err := e.lookup(ctx, r.queue)
	if err != nil && ErrorOf(err).Code != CodeNotFound {
		return nil, err
	}
	if err != nil || q.id != r.record.Generation {
		return nil, &Error{
			Code: CodeNotFound, Outcome: Applied,
			Detail: "The queue " + r.queue.Name + " was deleted meanwhile, and the rest of its messages with it.",
		}
	}
	return q, nil
}

// recount finds out how much was moved before the last owner was lost: what is no longer there. Messages that left the
// queue otherwise are taken for moved.
func (e *Engine) recount(ctx context.Context, q *queue, r *run) error {
	if err := e.allConcluded(ctx, q); err != nil {
		return err
	}
	left, err := e.planRedrive(ctx, q, r.sieve, r.record.To)
	if err != nil {
		return e.again(ctx, err, q)
	}
	r.record.Moved = max(r.record.Moved, min(r.record.Total, r.record.Matched-left.total-left.skipped))
	r.before = r.record.Moved
	return nil
}

// redriveBatch moves one batch from the cursor on and says where to go on; 0 at the end of the queue.
func (e *Engine) redriveBatch(ctx context.Context, q *queue, r *run) (next store.Seq, err error) {
	if r.record.To != "" && r.sieve.selection.Seqs == nil && !r.sieve.reads() {
		return e.redriveUnseen(ctx, q, r)
	}
	c, err := e.scan(ctx, q, r.sieve, r.record.Cursor, budget{
		matches: r.batch(), answer: redriveBytes, payloads: redriveLook, time: redriveTime,
	})
	if err != nil {
		return 0, e.again(ctx, err, q)
	}
	skipped := 0
	for to, views := range byTarget(c.views, r.record.To) {
		n, err := e.redriveSeen(ctx, q, r, to, views)
		if err != nil {
			return 0, err
		}
		skipped += n
	}
	r.record.PassSkipped += int64(skipped)
	return c.next, nil
}

// redriveUnseen moves what the store can choose by itself.
func (e *Engine) redriveUnseen(ctx context.Context, q *queue, r *run) (next store.Seq, err error) {
	to, err := e.redriveTarget(ctx, r, r.record.To)
	if err != nil {
		return 0, err
	}
	sel := r.sieve.selection
	sel.From = r.record.Cursor
	res, err := e.redriveMove(ctx, q, to, r, store.MoveParams{Select: sel, Limit: r.batch()}, nil)
	return res.Next, err
}

// redriveSeen moves messages of which it is known that they go to one queue. They are skipped if there is none.
func (e *Engine) redriveSeen(ctx context.Context, q *queue, r *run, name string, views []store.View) (skipped int, err error) {
	to, err := e.redriveTarget(ctx, r, name)
	if err != nil {
		return 0, err
	}
	if to == nil || to == q {
		return len(views), nil
	}
	sel := store.Selection{States: r.sieve.selection.States, Seqs: make([]store.Seq, len(views))}
	for i := range views {
		sel.Seqs[i] = views[i].Seq
	}
	var ids []MessageID
	if r.sieve.selection.Seqs != nil {
		ids = e.idsOf(q, views)
	}
	for {
		res, err := e.redriveMove(ctx, q, to, r, store.MoveParams{Select: sel, Limit: len(views)}, ids)
		if err != nil || res.Next == 0 {
			return 0, err
		}
		sel.From = res.Next
	}
}

// redriveTarget finds where messages are to go. Without a queue of their own choice it may be that there is none: nil.
func (e *Engine) redriveTarget(ctx context.Context, r *run, name string) (*queue, error) {
	if r.record.To == "" && !r.allowed[name] {
		return nil, nil
	}
	to, _, err := e.lookup(ctx, Ref{r.queue.Tenant, name})
	if err == nil {
		return to, nil
	}
	if r.record.To == "" && ErrorOf(err).Code == CodeNotFound {
		return nil, nil
	}
	return nil, err
}

// redriveMove performs one move, counts and reports it. ids are of the messages if all of them are moved.
func (e *Engine) redriveMove(ctx context.Context, q, to *queue, r *run, p store.MoveParams, ids []MessageID) (store.MoveResult, error) {
	there := func() bool {
		now, ok := e.catalog.byName(to.ref)
		return ok && now == to
	}
	p.Renew = r.record.Renew
	res, ok, err := e.moveInto(ctx, q, to, there, p)
	if err != nil {
		r.recount = r.recount || errors.Is(err, store.ErrUnknown)
		return res, e.again(ctx, fmt.Errorf("move messages of %s to %s: %w", q.ref, to.ref, err), q, to)
	}
	if !ok {
		return res, errAgain
	}
	if res.Moved == 0 {
		return res, nil
	}
	r.count(res.Moved, e.clock.moment())
	e.dueIn(to, res.NextDue)
	if len(ids) != res.Moved {
		ids = nil
	}
	if e.events.Moved != nil {
		e.events.Moved(Move{Task: r.id, From: q.ref, To: to.ref, Principal: r.record.Principal, Messages: res.Moved, IDs: ids})
	}
	return res, nil
}

// again reads the queues again if one of them is gone, and is then errAgain.
func (e *Engine) again(ctx context.Context, err error, queues ...*queue) error {
	if !errors.Is(err, store.ErrGone) {
		return err
	}
	for _, q := range queues {
		if _, _, err := e.reload(ctx, q.ref, q.setup.Load()); err != nil && ErrorOf(err).Code != CodeNotFound {
			return err
		}
	}
	return errAgain
}

// byTarget yields messages by where they go, each queue once, in the order of their first: all to one queue, or, if it
// has no name, each to the one it last came from.
func byTarget(views []store.View, to string) func(yield func(string, []store.View) bool) {
	return func(yield func(string, []store.View) bool) {
		if to != "" {
			if len(views) > 0 {
				yield(to, views)
			}
			return
		}
		var names []string
		groups := make(map[string][]store.View)
		for _, v := range views {
			name := cameFrom(&v)
			if groups[name] == nil {
				names = append(names, name)
			}
			groups[name] = append(groups[name], v)
		}
		for _, name := range names {
			if !yield(name, groups[name]) {
				return
			}
		}
	}
}

// cameFrom is the name of the queue that a message last came from; empty for none.
func cameFrom(v *store.View) string {
	if v.Origin == nil {
		return ""
	}
	return v.Origin.Label
}

// idsOf are the ids of messages in q.
func (e *Engine) idsOf(q *queue, views []store.View) []MessageID {
	ids := make([]MessageID, len(views))
	for i := range views {
		ids[i] = e.ids().of(q.id, &views[i].Delivery)
	}
	return ids
}
