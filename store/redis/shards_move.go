package redis

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

// markSome makes the first step of a move in the first shard of the source that has anything to move.
func (s *Store) markSome(ctx context.Context, p store.MoveParams, noted int64) (intent, store.Seq, error) {
	type marked struct {
		intent
		next store.Seq
	}
	m, err := spread(ctx, s, p.Source, p, func(whole part, ctx context.Context, p store.MoveParams) (marked, error) {
		in, next, err := whole.mark(ctx, p, noted)
		return marked{in, next}, err
	}, func(q *shardedQueue, ctx context.Context, p store.MoveParams) (m marked, err error) {
		m.next, err = q.through(p.Select, func(from part, sel store.Selection) (bool, store.Seq, error) {
			mine := p
			mine.Select = sel
			in, next, err := from.mark(ctx, mine, noted)
			m.intent = in
			return in.id != "", next, err
		})
		if err == nil && m.from.Store == nil { // the selection is empty in itself
			m.intent = intent{from: q.parts[0], source: p.Source, target: p.Target, noted: noted}
		}
		return m, err
	})
	return m.intent, m.next, err
}

// arrival runs a script of a move in its target. One with shards takes the move into the shard that its id chooses, so that
// all who have a part in it go to the same one.
func (s *Store) arrival(ctx context.Context, sc *script, in intent, args ...any) (*reply, int64, error) {
	to := s.whole()
	q := s.shards.of(in.target)
	for {
		if q != nil {
			to = q.parts[shardOfMove(in.id, len(q.parts))]
		}
		r, now, err := to.queue(ctx, sc, queueCall{id: in.target}, args...)
		if q = s.learned(in.target, err); q == nil {
			if err == nil && sc == queueMoveInsert {
				to.told(in.target, r, now, sends, len(in.moving))
			}
			return r, now, err
		}
	}
}

func shardOfMove(id string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return int(h.Sum32() % uint32(n))
}

// sourceOf is where a move with this id goes out of: it is made of the name of the source or its shard, and a number.
func (s *Store) sourceOf(ctx context.Context, id string) (store.QueueID, part, error) {
	queue, shard, err := splitMove(id)
	if err != nil {
		return 0, part{}, err
	}
	parts, err := s.partsOf(ctx, queue)
	if err != nil {
		return queue, part{}, err
	}
	if shard >= uint64(len(parts)) {
		return queue, part{}, fmt.Errorf("move %q out of a shard that is not there: %w", id, store.ErrCorrupt)
	}
	return queue, parts[shard], nil
}

// splitMove takes the id of a move apart.
func splitMove(id string) (queue store.QueueID, shard uint64, err error) {
	name, _, found := cutLast(id, ":")
	generation, number, sharded := strings.Cut(name, ":")
	n, err := strconv.ParseUint(generation, 10, 64)
	if err == nil && sharded {
		shard, err = strconv.ParseUint(number, 10, 8)
	}
	if err != nil || !found {
		return 0, 0, fmt.Errorf("move %q: %w", id, store.ErrCorrupt)
	}
	return store.QueueID(n), shard, nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
