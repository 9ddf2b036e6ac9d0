package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// reconcileTopics does for topics what reconcile does for queues: the store's generations are listed before the catalog.
func (e *Engine) reconcileTopics(ctx context.Context) error {
	orphans, err := e.logs(ctx)
	if err != nil {
		return err
	}
	err = e.eachPair(ctx, topicPrefix, pageSize, func(p store.Pair) error {
		ref, err := topicOfKey(p.Key)
		if err != nil {
			return err
		}
		r, err := decodeTopic(p)
		if err != nil {
			return err
		}
		delete(orphans, r.id)
		return e.applyTopic(ctx, e.installTopic(ref, r))
	})
	if err != nil {
		return err
	}
	for id := range orphans {
		if err := e.store.DropLog(ctx, id); err != nil {
			return fmt.Errorf("drop log %d, which no topic has: %w", id, err)
		}
	}
	return e.eachPair(ctx, offsetsPrefix, pageSize, func(p store.Pair) error {
		id, ok := logOfKey(p.Key)
		if !ok {
			return fmt.Errorf("%w: key %q", store.ErrCorrupt, p.Key)
		}
		if _, known := e.topics.byID(id); known {
			return nil
		}
		return e.store.Delete(ctx, p.Key, p.Revision)
	})
}

func (e *Engine) logs(ctx context.Context) (map[store.LogID]struct{}, error) {
	all := make(map[store.LogID]struct{})
	for after := store.LogID(0); ; {
		ids, err := e.store.Logs(ctx, after, pageSize)
		if err != nil {
			return nil, fmt.Errorf("list logs: %w", err)
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
