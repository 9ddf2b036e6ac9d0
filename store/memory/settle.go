package memory

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Settle implements [store.Queues].
func (s *Store) Settle(_ context.Context, p store.SettleParams) (store.SettleResult, error) {
	res, released, err := s.settle(p)
	if released {
		s.notify(p.Queue)
	}
	return res, err
}

func (s *Store) settle(p store.SettleParams) (res store.SettleResult, released bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.SettleResult{}, false, err
	}
	now := s.clock.Now()
	ev, outcomes, _ := q.Settle(now, p)
	for _, c := range ev.Changes {
		if c.Target == store.Done {
			delete(q.messages, c.Seq)
		}
	}
	return store.SettleResult{Outcomes: outcomes, NextDue: q.NextDue(now)}, ev.Released(), nil
}
