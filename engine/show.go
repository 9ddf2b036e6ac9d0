package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Queue shows one queue.
func (e *Engine) Queue(ctx context.Context, ref Ref) (Queue, error) {
	var found Queue
	err := e.follow(ctx, ref, func(q *queue, s *setup) error {
		stats, err := e.store.Stats(ctx, q.id)
		if err != nil {
			return fmt.Errorf("count %s: %w", ref, err)
		}
		e.dueIn(q, stats.NextDue)
		found = shown(ref, s, stats)
		found.Paused = s.pause.at(e.clock.now())
		found.Numbers = q.numbers.Load().read(e.clock.moment(), found.Counts)
		return nil
	})
	return found, err
}

func shown(ref Ref, s *setup, stats store.Stats) Queue {
	return Queue{
		Ref:    ref,
		Config: s.config.clone(),
		ETag:   etag(s.revision),
		Counts: Counts{
			Ready: stats.Ready, Leased: stats.Leased, Delayed: stats.Delayed, Dead: stats.Dead,
			Bytes: stats.Bytes,
		},
		OldestAge: stats.OldestAge,
	}
}

// Queues lists the tenant's queues whose name has the prefix and comes after the given one, by name, at most limit
// (from 1 to 1,000; anything else means 1,000). Fewer than limit means that there are no more.
func (e *Engine) Queues(ctx context.Context, tenant, prefix, after string, limit int) ([]Queue, error) {
	if limit < 1 || limit > pageSize {
		limit = pageSize
	}
	start := ""
	if after != "" {
		start = tenantPrefix(tenant) + after
	}
	found := make([]Queue, 0, min(limit, 64))
	for len(found) < limit {
		want := limit - len(found)
		pairs, err := e.store.List(ctx, tenantPrefix(tenant)+prefix, start, want)
		if err != nil {
			return nil, fromStore(fmt.Errorf("list the queues of %s: %w", tenant, err))
		}
		if found, err = e.showAll(ctx, found, pairs); err != nil {
			return nil, err
		}
		if len(pairs) < want {
			break
		}
		start = pairs[len(pairs)-1].Key
	}
	return found, nil
}

// showAll appends the queues of the catalog entries, but for those deleted meanwhile.
func (e *Engine) showAll(ctx context.Context, found []Queue, pairs []store.Pair) ([]Queue, error) {
	for _, p := range pairs {
		ref, err := refOfKey(p.Key)
		if err != nil {
			return nil, fromStore(err)
		}
		q, err := e.Queue(ctx, ref)
		switch {
		case err == nil:
			found = append(found, q)
		case ErrorOf(err).Code == CodeNotFound:
		default:
			return nil, err
		}
	}
	return found, nil
}
