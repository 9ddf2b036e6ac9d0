package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// pageSize is how much of a listing is read at once.
const pageSize = 1000

// reconcile learns all queues and repairs what a crash may have left between catalog and store. The store's
// generations are listed first: each was in the catalog before it was in the store, so one that is not there by now
// was deleted.
func (e *Engine) reconcile(ctx context.Context) error {
	orphans, err := e.generations(ctx)
	if err != nil {
		return err
	}
	var after string
	for {
		pairs, err := e.store.List(ctx, catalogPrefix, after, pageSize)
		if err != nil {
			return fmt.Errorf("list the catalog: %w", err)
		}
		for _, p := range pairs {
			ref, err := refOfKey(p.Key)
			if err != nil {
				return err
			}
			r, err := decodeRecord(p)
			if err != nil {
				return err
			}
			delete(orphans, r.id)
			if err := e.apply(ctx, e.install(ref, r)); err != nil {
				return err
			}
		}
		if len(pairs) < pageSize {
			break
		}
		after = pairs[len(pairs)-1].Key
	}
	for id := range orphans {
		if err := e.store.Drop(ctx, id); err != nil {
			return fmt.Errorf("drop generation %d, which no queue has: %w", id, err)
		}
	}
	return nil
}

func (e *Engine) generations(ctx context.Context) (map[store.QueueID]struct{}, error) {
	all := make(map[store.QueueID]struct{})
	var after store.QueueID
	for {
		ids, err := e.store.Queues(ctx, after, pageSize)
		if err != nil {
			return nil, fmt.Errorf("list generations: %w", err)
		}
		for _, id := range ids {
			all[id] = struct{}{}
		}
		if len(ids) < pageSize {
			return all, nil
		}
		after = ids[len(ids)-1]
	}
}
