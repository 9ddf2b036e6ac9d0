package memory

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Purge implements [store.QueueAdmin].
func (s *Store) Purge(_ context.Context, id store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	res, frees, err := s.purge(id, sel)
	if frees {
		s.notify(id)
	}
	return res, err
}

func (s *Store) purge(id store.QueueID, sel store.Selection) (res store.PurgeResult, frees bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(id)
	if err != nil {
		return res, false, err
	}
	now, ahead := s.read(q)
	sel = ahead.Selection(sel)
	_, n, next, changed := q.Purge(now, &sel)
	return store.PurgeResult{Purged: n, Next: next}, changed && q.Frees(false), nil
}
