package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var (
	queuePurge    = newScript("queue_purge")
	queuePurgeAll = newScript("queue_purge_all")
)

// Purge implements [store.QueueAdmin].
func (s *Store) Purge(ctx context.Context, id store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	if sel.States == 0 && onlyStates(&sel) {
		return s.purgeAll(ctx, id)
	}
	r, _, err := s.queue(ctx, queuePurge, queueCall{id: id}, selectionArgs(&sel)...)
	if err != nil {
		return store.PurgeResult{}, err
	}
	res := store.PurgeResult{Purged: r.int(), Next: store.Seq(r.int())}
	return res, r.done()
}

func (s *Store) purgeAll(ctx context.Context, id store.QueueID) (store.PurgeResult, error) {
	for {
		r, _, err := s.queue(ctx, queuePurgeAll, queueCall{id: id})
		if err != nil {
			return store.PurgeResult{}, err
		}
		if count, moves := r.int(), r.list(); !moves.more() {
			return store.PurgeResult{Purged: count}, r.done()
		} else if err := s.resumeAll(ctx, id, moves); err != nil {
			return store.PurgeResult{}, err
		}
	}
}

// resumeAll goes on with moves out of a queue.
func (s *Store) resumeAll(ctx context.Context, source store.QueueID, moves *reply) error {
	for moves.more() {
		if err := s.resume(ctx, source, moves.text()); err != nil {
			return err
		}
	}
	return moves.done()
}
