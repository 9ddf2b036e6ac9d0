package segment

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
)

// Purge implements [store.QueueAdmin].
func (s *Store) Purge(ctx context.Context, id store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	if err := s.journal.Room(ctx, sweepLen, true); err != nil {
		return store.PurgeResult{}, fmt.Errorf("purge queue %d: %w", id, err)
	}
	q, err := s.find(id)
	if err != nil {
		return store.PurgeResult{}, err
	}
	res, frees, lsn, err := s.purge(q, sel)
	if err := s.await(lsn, err); err != nil {
		return store.PurgeResult{}, err
	}
	if frees {
		s.notify(id)
	}
	return res, nil
}

// purge decides and appends.
func (s *Store) purge(q *queue, sel store.Selection) (res store.PurgeResult, frees bool, lsn journal.LSN, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return res, false, q.last, err
	}
	now := s.follow(q, false)
	sel = s.clock.Ahead().Selection(sel)
	ev, n, next, changed := q.state.Purge(now, &sel)
	res.Purged, res.Next = n, next
	if changed {
		q.last = s.append(seal(ev.Encode(room(13+8*len(ev.Seqs))), typePurged, q.id), true)
		q.settled = q.last
		frees = q.state.Frees(false)
	}
	return res, frees, q.last, nil
}
