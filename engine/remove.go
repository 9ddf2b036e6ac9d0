package engine

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Remove removes one message, in any state. A lease on it is lost. Its FIFO group goes on. A message that is not in the
// queue is not found.
func (e *Engine) Remove(ctx context.Context, ref Ref, id MessageID) error {
	err := e.pick(ctx, ref, id, func(q *queue, s *setup, v *store.View) (store.Outcome, error) {
		return e.settleOne(ctx, q, s, store.SettleItem{Seq: v.Seq, Token: store.AnyToken, Target: store.Done})
	})
	if err != nil {
		return err
	}
	tell(e.events.Removed, ref, 1)
	return nil
}
