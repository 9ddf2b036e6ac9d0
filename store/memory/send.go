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
	if err == nil && !res.Duplicate && res.Count > 0 {
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
	now, ahead := s.read(q)
	metas := model.Metas(p.Entries, s.clock)
	next := q.Next()
	_, res, changed, err := q.Send(now, model.Sending{Entries: metas, Once: p.Once, Whole: p.Whole})
	res = ahead.Sent(res)
	if err != nil || !changed {
		return res, err
	}
	for i, e := range p.Entries {
		if res.Fates != nil && res.Fates[i].Verdict != store.Accepted {
			continue
		}
		if q.Live(next) {
			q.messages[next] = model.Stored{Size: e.Size, SentAt: now, Payload: slices.Clone(e.Payload)}
		}
		next++
	}
	return res, nil
}
