package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Release gives back all that a consumer holds, ready at once, and says how many messages that were. The deliveries under way
// do not count, since the consumer did not try the messages: they are as if they had not been.
func (e *Engine) Release(ctx context.Context, ref Ref, consumer string) (int, error) {
	if consumer == "" || len(consumer) > MaxConsumerBytes {
		return 0, invalid("consumer", fmt.Sprintf("Name the consumer, in 1 to %d bytes, as in its receives.", MaxConsumerBytes))
	}
	got, err := e.settleAll(ctx, ref,
		store.Selection{States: store.StateLeased, Consumer: consumer},
		store.SettleItem{Target: store.Ready, Uncount: true})
	tell(e.events.Undone, ref, got.settled)
	return got.settled, err
}

// counted is what settleAll did.
type counted struct {
	settled, died int
}

// settleAll makes all selected messages what each says, page by page, and buries those that died. What it did before
// an error counts, too.
func (e *Engine) settleAll(ctx context.Context, ref Ref, sel store.Selection, each store.SettleItem) (counted, error) {
	p := pages{selection: sel}
	var c counted
	err := e.follow(ctx, ref, func(q *queue, s *setup) error {
		return p.each(q, func(sel store.Selection) (store.Seq, error) {
			res, err := e.store.Settle(ctx, store.SettleParams{
				Queue: q.id, Revision: uint64(s.revision), Select: &sel, Each: each,
				Acks: s.copies(""),
			})
			if err != nil {
				return 0, fmt.Errorf("settle the selected messages of %s: %w", q.ref, err)
			}
			e.dueIn(q, res.NextDue)
			settled := count(res.Outcomes, store.Settled)
			if each.Target == store.Ready {
				e.countReturned(q, settled)
			}
			c.settled += settled
			c.died += count(res.Outcomes, store.Died)
			return res.Next, nil
		})
	})
	died := c.died
	if each.Target == store.Dead {
		died += c.settled
	}
	if died > 0 {
		p.of.freed()
		e.buryNow(ctx, p.of, died)
	}
	return c, p.halfway(err)
}
