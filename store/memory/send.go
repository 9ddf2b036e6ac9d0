package memory

import (
	"context"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Send implements [store.Queues].
func (s *Store) Send(_ context.Context, p store.SendParams) (store.SendResult, error) {
	res, err := s.send(p)
	if err == nil && !res.Duplicate {
		s.notify(p.Queue)
	}
	return res, err
}

func (s *Store) send(p store.SendParams) (store.SendResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.SendResult{}, err
	}
	now := s.clock.Now()
	delays := model.Delays(p.Entries, s.clock)
	metas := make([]model.Meta, len(p.Entries))
	for i, e := range p.Entries {
		metas[i] = model.Meta{Size: e.Size}
		if delays != nil {
			metas[i].Due = now + delays[i]
		}
	}
	_, res, fresh, err := q.Send(now, metas, p.Once)
	if err != nil || !fresh {
		return res, err
	}
	for i, e := range p.Entries {
		q.messages[res.First+store.Seq(i)] = model.Stored{Size: e.Size, SentAt: now, Payload: slices.Clone(e.Payload)}
	}
	return res, nil
}
