package redis

import (
	"context"
	"errors"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// sweepAgain is when shards are swept again that could not be.
const sweepAgain = time.Second

// Stats implements [store.Queues].
func (s *Store) Stats(ctx context.Context, id store.QueueID) (store.Stats, error) {
	return spread(ctx, s, id, id, part.stats, (*shardedQueue).stats)
}

// stats adds up what the shards count, each at its moment.
func (q *shardedQueue) stats(ctx context.Context, id store.QueueID) (store.Stats, error) {
	counts, errs := abreast(q.parts, func(_ int, s part) (store.Stats, error) { return s.stats(ctx, id) })
	if err := firstOf(errs); err != nil {
		return store.Stats{}, err
	}
	sum := counts[0]
	for _, c := range counts[1:] {
		sum.Ready += c.Ready
		sum.Leased += c.Leased
		sum.Delayed += c.Delayed
		sum.Dead += c.Dead
		sum.Bytes += c.Bytes
		sum.OldestAge = max(sum.OldestAge, c.OldestAge)
		sum.Revision = min(sum.Revision, c.Revision)
		sum.NextDue = min(sum.NextDue, c.NextDue)
		sum.Moving += c.Moving
	}
	sum.Approximate = true
	return sum, nil
}

// Sweep implements [store.QueueAdmin].
func (s *Store) Sweep(ctx context.Context, id store.QueueID) (store.SweepResult, error) {
	return spread(ctx, s, id, id, part.sweep, (*shardedQueue).sweep)
}

// sweep sweeps all shards. Those that cannot be reached keep no other from it: it is due again soon then.
func (q *shardedQueue) sweep(ctx context.Context, id store.QueueID) (store.SweepResult, error) {
	swept, errs := abreast(q.parts, func(_ int, s part) (store.SweepResult, error) { return s.sweep(ctx, id) })
	sum, failed := store.SweepResult{NextDue: store.NoDue}, 0
	for i, res := range swept {
		if errs[i] != nil {
			failed++
			continue
		}
		sum.Expired += res.Expired
		sum.Lapsed += res.Lapsed
		sum.Ready += res.Ready
		sum.Dead += res.Dead
		sum.NextDue = min(sum.NextDue, res.NextDue)
	}
	if failed == 0 {
		return sum, nil
	}
	if err := firstOf(errs); failed == len(errs) || !errors.Is(err, store.ErrUnknown) && !mayTryOther(err) {
		return store.SweepResult{}, err
	}
	sum.NextDue = min(sum.NextDue, sweepAgain)
	return sum, nil
}

// Groups implements [store.QueueAdmin].
func (s *Store) Groups(ctx context.Context, id store.QueueID, after *string, limit int) ([]store.Group, error) {
	parts, err := s.partsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := parts[0].groups(ctx, id, after, limit) // a queue with several has no groups
	return s.ahead().Groups(list), err
}

// Scan implements [store.QueueAdmin].
func (s *Store) Scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	p.Select = s.ahead().Selection(p.Select)
	res, err := spread(ctx, s, p.Queue, p, part.scan, (*shardedQueue).scan)
	res.Views = s.ahead().Views(res.Views)
	return res, err
}

// scan looks through the shards one after the other until it has enough.
func (q *shardedQueue) scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	var all store.ScanResult
	var err error
	all.Next, err = q.through(p.Select, func(s part, sel store.Selection) (bool, store.Seq, error) {
		mine := p
		mine.Select = sel
		res, err := s.scan(ctx, mine)
		for _, v := range res.Views {
			if len(all.Views) > 0 && int64(v.Size) > p.MaxBytes {
				return true, v.Seq, nil // a shard gives one at least, whatever its size
			}
			v.Seq = s.outer(v.Seq)
			p.Limit--
			p.MaxBytes -= int64(v.Size)
			all.Views = append(all.Views, v)
		}
		return p.Limit <= 0 || p.MaxBytes <= 0, res.Next, err
	})
	if err != nil {
		return store.ScanResult{}, err
	}
	return all, nil
}

// lookedFor is a message that is looked for.
type lookedFor struct {
	queue, origin store.QueueID
	seq           store.Seq
}

// Lookup implements [store.QueueAdmin].
func (s *Store) Lookup(ctx context.Context, id, origin store.QueueID, seq store.Seq) (store.View, error) {
	v, err := spread(ctx, s, id, lookedFor{id, origin, seq}, part.lookupWhole, (*shardedQueue).lookup)
	return s.ahead().View(v), err
}

func (s part) lookupWhole(ctx context.Context, m lookedFor) (store.View, error) {
	own := store.Seq(0)
	if m.origin == m.queue {
		own = m.seq
	}
	return s.lookup(ctx, m, own)
}

// lookup looks where the message was sent, and if it is not there any more, in all shards: it may have been moved to one of
// them. What is here counts more than what has left, and what left last more than what left before.
func (q *shardedQueue) lookup(ctx context.Context, m lookedFor) (store.View, error) {
	shard, own := inner(m.seq)
	home := m.origin == m.queue && shard < uint64(len(q.parts))
	if home {
		if v, err := q.parts[shard].lookupHere(ctx, m, own); err == nil && v.State != 0 {
			return v, nil
		}
	}
	views, errs := abreast(q.parts, func(_ int, s part) (store.View, error) {
		if home && uint64(s.shard) == shard {
			return s.lookupHere(ctx, m, own)
		}
		return s.lookupHere(ctx, m, 0)
	})
	var found *store.View
	var failed error
	for i := range views {
		switch v := &views[i]; {
		case errors.Is(errs[i], store.ErrNotFound):
			if failed == nil {
				failed = errs[i]
			}
		case errs[i] != nil:
			return store.View{}, errs[i]
		case v.State != 0:
			return *v, nil
		case found == nil || v.RemovedAt.After(found.RemovedAt):
			found = v
		}
	}
	if found == nil {
		return store.View{}, failed
	}
	return *found, nil
}

func (s part) lookupHere(ctx context.Context, m lookedFor, own store.Seq) (store.View, error) {
	v, err := s.lookup(ctx, m, own)
	v.Seq = s.outer(v.Seq)
	return v, err
}
