package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueSweep = newScript("queue_sweep")

// sweep sweeps a part.
func (s part) sweep(ctx context.Context, id store.QueueID) (store.SweepResult, error) {
	r, now, err := s.queue(ctx, queueSweep, queueCall{id: id})
	if err != nil {
		return store.SweepResult{}, err
	}
	res := store.SweepResult{Expired: int(r.int()), Lapsed: int(r.int()), Ready: r.int(), Dead: r.int()}
	res.NextDue = until(now, r.int())
	s.told(id, r, now, nothingMuch, 0)
	return res, r.done()
}
