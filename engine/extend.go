package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Extend lets leases end later, or earlier; a visibility of 0 ends one at once. Only a lease that still runs can be
// extended: a heartbeat that comes late is refused and changes nothing. Acks replaces the queue's, unless empty.
func (e *Engine) Extend(ctx context.Context, ref Ref, items []ExtendItem, acks Acks) ([]ItemResult, error) {
	b := extension(items)
	b.strict, b.acks = true, acks
	d, err := e.settle(ctx, ref, b)
	if err != nil {
		return nil, err
	}
	done, lost := d.refuse(store.Settled, store.Died)
	tell(e.events.Extended, ref, done)
	tell(e.events.LeaseLost, ref, lost)
	e.buryNow(ctx, d.queue, count(d.outcomes, store.Died)) // by a visibility of 0
	return d.results, nil
}

// extension lets leases end as the items say.
func extension(items []ExtendItem) settling {
	return settling{
		verb: "extend", n: len(items),
		receipt: func(i int) string { return items[i].Receipt },
		refused: func(i int) *Error { return items[i].Refused },
		item: func(_ *QueueConfig, i int, _ receipt) (store.SettleItem, *Error) {
			v := items[i].Visibility
			if v < 0 || v > MaxDuration {
				return store.SettleItem{}, validDuration(fmt.Sprintf("items[%d].visibility", i), v, 0, MaxDuration)
			}
			return store.SettleItem{Target: store.Leased, After: v}, nil
		},
	}
}
