package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// Settle implements [store.Queues].
func (s *Store) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	if p.Select != nil {
		sel := s.ahead().Selection(*p.Select)
		p.Select = &sel
	}
	return spread(ctx, s, p.Queue, p, part.settle, (*shardedQueue).settle)
}

// settle takes the items to their shards, all at once, and puts their outcomes back in order.
func (q *shardedQueue) settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	if p.Select != nil {
		return q.settleSelected(ctx, p)
	}
	groups, index := q.byShard(p.Items)
	if len(groups) == 1 {
		p.Items = groups[0].items
		return groups[0].part.settle(ctx, p)
	}
	parts := make([]part, len(groups))
	for i := range groups {
		parts[i] = groups[i].part
	}
	results, errs := abreast(parts, func(i int, s part) (store.SettleResult, error) {
		mine := p
		mine.Items = groups[i].items
		return s.settle(ctx, mine)
	})
	if err := united(errs); err != nil {
		return store.SettleResult{}, err
	}
	all := store.SettleResult{NextDue: store.NoDue, Outcomes: make([]store.Outcome, len(p.Items))}
	for i := range results {
		all.NextDue = min(all.NextDue, results[i].NextDue)
	}
	for i, g := range index {
		all.Outcomes[i] = results[g].Outcomes[0]
		results[g].Outcomes = results[g].Outcomes[1:]
	}
	return all, nil
}

// itemGroup are the items of one shard.
type itemGroup struct {
	part  part
	items []store.SettleItem
}

// byShard groups items; index says of each item in which group it is. What no shard can have goes to the first, which
// knows nothing of it either.
func (q *shardedQueue) byShard(items []store.SettleItem) (groups []itemGroup, index []int) {
	index = make([]int, len(items))
	var at [maxShards]int // the group of a shard and 1
	for i, item := range items {
		shard, own := inner(item.Seq)
		if shard >= uint64(len(q.parts)) {
			shard, own = 0, lastSeq
		}
		if at[shard] == 0 {
			groups = append(groups, itemGroup{part: q.parts[shard]})
			at[shard] = len(groups)
		}
		g := at[shard] - 1
		item.Seq = own
		groups[g].items = append(groups[g].items, item)
		index[i] = g
	}
	return groups, index
}

// settleSelected settles what is selected in the first shard that has any.
func (q *shardedQueue) settleSelected(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	all := store.SettleResult{NextDue: store.NoDue}
	var err error
	all.Next, err = q.through(*p.Select, func(s part, sel store.Selection) (bool, store.Seq, error) {
		mine := p
		mine.Select = &sel
		res, err := s.settle(ctx, mine)
		all.Outcomes, all.NextDue = res.Outcomes, min(all.NextDue, res.NextDue)
		return len(res.Outcomes) > 0, res.Next, err
	})
	return all, err
}
