package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueSweep = newScript("queue_sweep")

// Sweep implements [store.QueueAdmin]. It also goes on with moves that stand still.
func (s *Store) Sweep(ctx context.Context, id store.QueueID) (store.SweepResult, error) {
	r, now, err := s.queue(ctx, queueSweep, queueCall{id: id})
	if err != nil {
		return store.SweepResult{}, err
	}
	res := store.SweepResult{Expired: int(r.int()), Lapsed: int(r.int()), Ready: r.int(), Dead: r.int()}
	res.NextDue = until(now, r.int())
	out, in := r.list(), r.list()
	if err := r.done(); err != nil {
		return store.SweepResult{}, err
	}
	if err := s.resumeAll(ctx, id, out); err != nil {
		return store.SweepResult{}, err
	}
	for in.more() {
		if err := s.forgetMove(ctx, id, in.text()); err != nil {
			return store.SweepResult{}, err
		}
	}
	return res, in.done()
}
