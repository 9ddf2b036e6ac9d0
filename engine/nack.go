package engine

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/store"
)

// Nack gives messages back, to be delivered again as the retry policy or the item says, or to be dead. A message that
// is dead by that is in its dead-letter queue, if there is one, when Nack returns. As for [Engine.Ack], the lease may
// have ended unless the queue is FIFO, where a message that was given back also holds up its group until it is acked. Acks
// replaces the queue's, unless empty.
func (e *Engine) Nack(ctx context.Context, ref Ref, items []NackItem, acks Acks) ([]ItemResult, error) {
	d, err := e.settle(ctx, ref, settling{
		verb: "nack", n: len(items), acks: acks,
		receipt: func(i int) string { return items[i].Receipt },
		refused: func(i int) *Error { return items[i].Refused },
		item: func(c *QueueConfig, i int, r receipt) (store.SettleItem, *Error) {
			return e.nack(&c.Retry, i, &items[i], r)
		},
	})
	if err != nil {
		return nil, err
	}
	done, lost := d.refuse(store.Settled, store.Died)
	e.countReturned(d.queue, done)
	tell(e.events.Nacked, ref, done)
	tell(e.events.LeaseLost, ref, lost)
	e.buryNow(ctx, d.queue, d.died(items))
	return d.results, nil
}

func (e *Engine) nack(retry *Retry, i int, n *NackItem, r receipt) (store.SettleItem, *Error) {
	item := store.SettleItem{Target: store.Ready, Reason: cut(n.Reason, MaxReasonBytes)}
	switch {
	case n.Dead:
		item.Target = store.Dead
	case n.Delay == nil:
		item.After = retry.backoff(r.entered, &e.random)
	case *n.Delay < 0 || *n.Delay > MaxDuration:
		return item, validDuration(fmt.Sprintf("items[%d].delay", i), *n.Delay, 0, MaxDuration)
	default:
		item.After = *n.Delay
	}
	return item, nil
}

// died counts the messages a nack made dead: those it said so of, and those whose deliveries are used up.
func (d *settled) died(items []NackItem) int {
	n := count(d.outcomes, store.Died)
	for i, o := range d.outcomes {
		if o == store.Settled && items[d.index[i]].Dead {
			n++
		}
	}
	return n
}

// cut shortens s to n bytes, or a little less so as not to split a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
