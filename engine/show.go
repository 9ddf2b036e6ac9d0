package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Queue shows one queue.
func (e *Engine) Queue(ctx context.Context, ref Ref) (Queue, error) {
	if err := e.renew(ctx, ref); err != nil {
		return Queue{}, err
	}
	return e.show(ctx, ref)
}

// showListed shows a queue whose entry was just read.
func (e *Engine) showListed(ctx context.Context, p store.Pair) (Queue, error) {
	ref, err := refOfKey(p.Key)
	if err != nil {
		return Queue{}, fromStore(err)
	}
	if err := e.catchUp(ctx, ref, p.Revision); err != nil {
		return Queue{}, err
	}
	return e.show(ctx, ref)
}

func (e *Engine) show(ctx context.Context, ref Ref) (Queue, error) {
	var found Queue
	err := e.follow(ctx, ref, func(q *queue, s *setup) error {
		stats, err := e.store.Stats(ctx, q.id)
		if err != nil {
			return fmt.Errorf("count %s: %w", ref, err)
		}
		e.dueIn(q, stats.NextDue)
		found = shown(e.store.Clock(), ref, s, stats)
		found.Paused = s.pause.at(e.wall())
		found.Numbers = q.numbers.Load().read(e.clock.moment(), found.Counts)
		return nil
	})
	return found, err
}

func shown(now store.Clock, ref Ref, s *setup, stats store.Stats) Queue {
	return Queue{
		Ref:    ref,
		Config: s.config.clone(),
		ETag:   etag(s.revision),
		Counts: Counts{
			Ready: stats.Ready, Leased: stats.Leased, Delayed: stats.Delayed, Dead: stats.Dead,
			Moving: stats.Moving, Bytes: stats.Bytes, Approximate: stats.Approximate,
		},
		OldestAge: stats.OldestAge,
		CreatedAt: showStamp(now, s.created, s.createdAt), ChangedAt: showStamp(now, s.changed, s.changedAt),
	}
}

// Queues lists the tenant's queues whose name has the prefix and comes after the given one, by name, at most limit
// (from 1 to 1,001, which is a page and one more; anything else means 1,000), and only those that visible says, nil for all.
// Fewer than limit means that there are no more. One that cannot be counted is listed with the reason.
func (e *Engine) Queues(ctx context.Context, tenant, prefix, after string, limit int, visible func(name string) bool) ([]Queue, error) {
	start := ""
	if after != "" {
		start = tenantPrefix(tenant) + after
	}
	patience := listTime
	found, err := listed(ctx, e, tenantPrefix(tenant)+prefix, start, limit, func(p store.Pair) (Queue, error) {
		if ref, err := refOfKey(p.Key); err == nil && visible != nil && !visible(ref.Name) {
			return Queue{}, errHidden
		}
		began := e.clock.moment()
		q, err := e.showListed(ctx, p)
		if err == nil || ErrorOf(err).Code == CodeNotFound || ctx.Err() != nil {
			return q, err
		}
		if patience -= time.Duration(e.clock.moment() - began); patience <= 0 {
			return q, err // the store does not answer
		}
		return e.uncountedQueue(p, err)
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("list the queues of %s: %w", tenant, err))
	}
	return found, nil
}

// uncountedQueue shows what the catalog has of a queue that cannot be counted: it does not hide the others.
func (e *Engine) uncountedQueue(p store.Pair, why error) (Queue, error) {
	ref, err := refOfKey(p.Key)
	if err != nil {
		return Queue{}, fromStore(err)
	}
	r, err := decodeRecord(p)
	if err != nil {
		r, why = record{config: DefaultConfig(), revision: p.Revision}, err
	}
	q := shown(e.store.Clock(), ref, r.setup(), store.Stats{OldestAge: -1})
	q.Uncounted = fromStore(why)
	return q, nil
}
