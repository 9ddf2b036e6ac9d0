package engine

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Ack removes messages. One that is already gone is fine, so an ack may be repeated. One whose lease has ended is
// still removed, unless someone else holds it by now.
func (e *Engine) Ack(ctx context.Context, ref Ref, receipts []string) ([]ItemResult, error) {
	d, err := e.settle(ctx, ref, settling{
		verb: "ack", n: len(receipts),
		receipt: func(i int) string { return receipts[i] },
		item: func(*QueueConfig, int, receipt) (store.SettleItem, *Error) {
			return store.SettleItem{Target: store.Done}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	_, lost := d.refuse(store.Settled, store.Gone)
	tell(e.events.Acked, ref, count(d.outcomes, store.Settled))
	tell(e.events.LeaseLost, ref, lost)
	return d.results, nil
}
