package memory

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Settle implements [store.Queues].
func (s *Store) Settle(_ context.Context, p store.SettleParams) (store.SettleResult, error) {
	res, frees, err := s.settle(p)
	if frees {
		s.notify(p.Queue)
	}
	return res, err
}

func (s *Store) settle(p store.SettleParams) (res store.SettleResult, frees bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.SettleResult{}, false, err
	}
	now, ahead := s.read(q)
	if p.Select != nil {
		sel := ahead.Selection(*p.Select)
		p.Select = &sel
	}
	ev, outcomes, next, changed := q.Settle(now, p)
	res = store.SettleResult{Outcomes: outcomes, Next: next, NextDue: q.NextDue(now)}
	return res, changed && q.Frees(ev.Released()), nil
}
