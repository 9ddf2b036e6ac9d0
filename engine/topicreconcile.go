package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// reconcileTopics does for topics what reconcile does for queues: the store's generations are listed before the catalog.
func (e *Engine) reconcileTopics(ctx context.Context) error {
	var orphans map[store.LogID]struct{}
	var err error
	if !e.shared() {
		if orphans, err = e.logs(ctx); err != nil {
			return err
		}
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
		t := e.installTopic(ref, r)
		_, _, err = e.arrangeTopic(ctx, t)
		if e.isPutOff(err) {
			e.topics.due.add(t)
			return nil
		}
		return unlessFull(unlessGone(err)) // another node has deleted it since
	})
	if err != nil {
		return err
	}
	for id := range orphans {
		if err := e.store.DropLog(ctx, id); err != nil {
			return fmt.Errorf("drop log %d, which no topic has: %w", id, err)
		}
	}
	return e.reconcileOffsets(ctx)
}

// reconcileOffsets removes what was committed on generations that are no more. Those that another node has made since the
// catalog was read are there when it is looked at afterwards.
func (e *Engine) reconcileOffsets(ctx context.Context) error {
	var strays []store.Pair
	err := e.eachPair(ctx, offsetsPrefix, pageSize, func(p store.Pair) error {
		id, ok := logOfKey(p.Key)
		if !ok {
			return fmt.Errorf("%w: key %q", store.ErrCorrupt, p.Key)
		}
		if _, known := e.topics.byID(id); !known {
			strays = append(strays, store.Pair{Key: p.Key, Revision: p.Revision})
		}
		return nil
	})
	if err != nil || len(strays) == 0 {
		return err
	}
	there, err := e.logs(ctx)
	if e.isPutOff(err) {
		return nil // whoever starts next may know better
	}
	if err != nil {
		return err
	}
	for _, p := range strays {
		id, _ := logOfKey(p.Key)
		if _, ok := there[id]; ok {
			continue
		}
		err := e.store.Delete(ctx, p.Key, p.Revision)
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
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
