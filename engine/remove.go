package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Remove removes one message, in any state. A lease on it is lost. Its FIFO group goes on. A message that is not in the
// queue is not found.
func (e *Engine) Remove(ctx context.Context, ref Ref, id MessageID) error {
	return e.pick(ctx, ref, id, func(q *queue, _ *setup, v *store.View) (store.Outcome, error) {
		return e.removeOne(ctx, q, v.Seq)
	})
}

// removeOne is a purge of one message, so that a history does not say it was acked. The outcome is Settled or Gone.
func (e *Engine) removeOne(ctx context.Context, q *queue, seq store.Seq) (store.Outcome, error) {
	res, err := e.store.Purge(ctx, q.id, store.Selection{Seqs: []store.Seq{seq}})
	if err != nil {
		return 0, fmt.Errorf("remove message %d of %s: %w", seq, q.ref, err)
	}
	if res.Purged == 0 {
		return store.Gone, nil
	}
	q.freed()
	tell(e.events.Removed, q.ref, 1)
	return store.Settled, nil
}
