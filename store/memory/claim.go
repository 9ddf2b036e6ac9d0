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
	ev, leases, _ := q.Claim(now, p)
	res := store.ClaimResult{
		Token: ev.Token, Deadline: model.Time(ev.Deadline), Died: len(ev.Died) + len(ev.Lapsed), Expired: len(ev.Expired),
		Ready: q.Claimable(), Repeated: ev.Repeated,
	}
	for _, l := range leases {
		d := q.messages[l.Seq].Deliver(l)
		d.Payload = slices.Clone(d.Payload)
		res.Messages = append(res.Messages, d)
	}
	res.NextDue = q.NextDue(now)
	return res, nil
}
