package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// onReceiveLease is the lease of messages that are acked by being received: only as long as that takes.
const onReceiveLease = 30 * time.Second

// ackAll acks what was claimed, durably, before anybody sees it: from here on the messages are delivered at most once.
// One that was removed by someone else meanwhile is not delivered.
func (r *Received) ackAll(ctx context.Context, s *setup) error {
	items := make([]store.SettleItem, len(r.claimed.Messages))
	for i := range items {
		items[i] = store.SettleItem{Seq: r.claimed.Messages[i].Seq, Token: r.claimed.Token, Target: store.Done}
	}
	outcomes, err := r.settle(context.WithoutCancel(ctx), s, items, "")
	if err != nil {
		return fromStore(fmt.Errorf("ack what was received from %s: %w", r.queue.ref, err))
	}
	mine := r.claimed.Messages[:0]
	for i, o := range outcomes {
		if o == store.Settled {
			mine = append(mine, r.claimed.Messages[i])
		}
	}
	r.claimed.Messages, r.kept = mine, true
	tell(r.engine.events.Acked, r.queue.ref, r.engine.acked(r.queue, outcomes))
	return nil
}
