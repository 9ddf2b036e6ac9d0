package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// reconcile learns all queues and repairs what a crash may have left between catalog and store. The store's
// generations are listed first: each was in the catalog before it was in the store, so one that is not there by now
// was deleted. What is shared with other engines is left to [Engine.dropOrphans].
func (e *Engine) reconcile(ctx context.Context) error {
	var orphans map[store.QueueID]struct{}
	var err error
	if !e.shared() {
		if orphans, err = e.generations(ctx); err != nil {
			return err
		}
	}
	err = e.eachPair(ctx, catalogPrefix, pageSize, func(p store.Pair) error {
		ref, err := refOfKey(p.Key)
		if err != nil {
			return err
		}
		r, err := decodeRecord(p)
		if err != nil && e.shared() {
			e.janitorEvent(ref, err)
			return nil // the others are served
		}
		if err != nil {
			return err
		}
		delete(orphans, r.id)
		q := e.install(ref, r)
		_, _, err = e.arrange(ctx, q)
		if e.isPutOff(err) {
			e.janitor.add(q)
			return nil
		}
		return unlessFull(unlessGone(err)) // another node has deleted it since
	})
	if err != nil {
		return err
	}
	for id := range orphans {
		if err := e.store.Drop(ctx, id); err != nil {
			return fmt.Errorf("drop generation %d, which no queue has: %w", id, err)
		}
	}
	return nil
}

// isPutOff says of an error with one queue or topic that a node may start all the same: the part of a shared store that has it
// is away. It is likely that another node has told the store what this one could not; if not, the first call that the store
// then refuses makes up for it.
func (e *Engine) isPutOff(err error) bool {
	return e.shared() && (errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt))
}

// unlessFull is err, unless it says that there is no room for a queue or topic that is half made. The next call on it makes
// it; until there is room for that, an engine that is there lets the others be emptied.
func unlessFull(err error) error {
	if err == nil || ErrorOf(err).Code == CodeStorageFull {
		return nil
	}
	return err
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
