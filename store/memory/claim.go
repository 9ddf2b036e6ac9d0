package memory

import (
	"context"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Claim implements [store.Queues].
func (s *Store) Claim(_ context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.ClaimResult{}, err
	}
	now := s.clock.Now()
	ev, entered, _ := q.Claim(now, p)
	q.forget(ev.Expired)
	res := store.ClaimResult{
		Token: ev.Token, Deadline: model.Time(ev.Deadline), Died: len(ev.Died),
		Ready: q.Ready(), NextDue: q.NextDue(now),
	}
	for i, seq := range ev.Seqs {
		d := q.messages[seq].Deliver(seq, entered[i])
		d.Payload = slices.Clone(d.Payload)
		res.Messages = append(res.Messages, d)
	}
	return res, nil
}
