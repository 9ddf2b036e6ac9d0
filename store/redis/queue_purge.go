package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var (
	queuePurge    = newScript("queue_purge")
	queuePurgeAll = newScript("queue_purge_all")
)

// purge removes messages of a part.
func (s part) purge(ctx context.Context, p purging) (store.PurgeResult, error) {
	if p.all() {
		return s.purgeAll(ctx, p.queue)
	}
	r, now, err := s.queue(ctx, queuePurge, queueCall{id: p.queue}, selectionArgs(&p.choice)...)
	if err != nil {
		return store.PurgeResult{}, err
	}
	res := store.PurgeResult{Purged: r.int(), Next: store.Seq(r.int())}
	s.told(p.queue, r, now, settles, int(res.Purged))
	return res, r.done()
}

func (s part) purgeAll(ctx context.Context, id store.QueueID) (store.PurgeResult, error) {
	for {
		r, now, err := s.queue(ctx, queuePurgeAll, queueCall{id: id})
		if err != nil {
			return store.PurgeResult{}, err
		}
		if count, moves := r.int(), r.list(); !moves.more() {
			s.told(id, r, now, settles, int(count))
			return store.PurgeResult{Purged: count}, r.done()
		} else if err := s.resumeAll(ctx, id, moves); err != nil {
			return store.PurgeResult{}, err
		}
	}
}

// resumeAll goes on with moves out of a queue.
func (s part) resumeAll(ctx context.Context, source store.QueueID, moves *reply) error {
	for moves.more() {
		if err := s.resume(ctx, source, moves.text()); err != nil {
			return err
		}
	}
	return moves.done()
}
