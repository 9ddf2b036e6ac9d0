package engine

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Ack removes messages. One that is already gone is fine, so an ack may be repeated. One whose lease has ended is
// still removed, unless someone else holds it by now; on a FIFO queue that is refused, since the next message of its
// group may be under way. Acks replaces the queue's, unless empty.
func (e *Engine) Ack(ctx context.Context, ref Ref, receipts []string, acks Acks) ([]ItemResult, error) {
	return e.ack(ctx, ref, receipts, false, acks)
}

// AckAny is [Engine.Ack] that takes receipts of earlier deliveries, too: the message is removed whoever holds it by now,
// and also if it is ready again, is delayed or is dead. On a FIFO queue it is Ack.
func (e *Engine) AckAny(ctx context.Context, ref Ref, receipts []string) ([]ItemResult, error) {
	return e.ack(ctx, ref, receipts, true, "")
}

func (e *Engine) ack(ctx context.Context, ref Ref, receipts []string, anyone bool, acks Acks) ([]ItemResult, error) {
	d, err := e.settle(ctx, ref, settling{
		verb: "ack", n: len(receipts), anyone: anyone, acks: acks,
		receipt: func(i int) string { return receipts[i] },
		item: func(*QueueConfig, int, receipt) (store.SettleItem, *Error) {
			return store.SettleItem{Target: store.Done}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	_, lost := d.refuse(store.Settled, store.Gone)
	tell(e.events.Acked, ref, e.acked(d.queue, d.outcomes))
	tell(e.events.LeaseLost, ref, lost)
	return d.results, nil
}
