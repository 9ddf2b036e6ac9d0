package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// orphanAge is how long a node has seen a generation that no queue or topic has before it drops it. An engine that is
	// alone on its store drops it when it starts: nobody else can be about to use it.
	orphanAge = moment(10 * time.Minute)
	// mostOrphans is how many there may be, or else as many as are not.
	mostOrphans = 10
)

// orphans are the generations that no queue or topic has, with the moment in which each was first found so. They are left
// over when a node ends between the two steps of a deletion, or when the catalog has lost a creation. They belong to the
// goroutine of the nodes.
type orphans struct {
	looked moment
	queues map[store.QueueID]moment
	logs   map[store.LogID]moment
}

// dropOrphans looks for generations that nobody has, and drops those that were so at a look long ago. The store's are listed
// before the catalog, which has had each before the store has. Very many are left where they are, since it is more likely
// then that the catalog was lost.
func (e *Engine) dropOrphans(ctx context.Context, now moment) error {
	o := &e.nodes.orphans
	queues, err := e.generations(ctx)
	if err != nil {
		return err
	}
	logs, err := e.logs(ctx)
	if err != nil {
		return err
	}
	known, err := e.exceptKnown(ctx, queues, logs)
	if err != nil {
		return err
	}
	o.queues, o.logs = stillOrphans(o.queues, queues, now), stillOrphans(o.logs, logs, now)
	if n := len(queues) + len(logs); n > max(mostOrphans, known) {
		return fmt.Errorf("%d queues and topics in the store are in no catalog, which has %d: it looks as if the catalog was lost. "+
			"They are left alone; restore what keeps it (in Redis the server with the keys {kv}) from a copy", n, known)
	}
	for _, id := range aged(o.queues, now) {
		if err := e.store.Drop(ctx, id); err != nil {
			return fmt.Errorf("drop generation %d, which no queue has: %w", id, err)
		}
		delete(o.queues, id)
	}
	for _, id := range aged(o.logs, now) {
		if err := e.store.DropLog(ctx, id); err != nil {
			return fmt.Errorf("drop log %d, which no topic has: %w", id, err)
		}
		delete(o.logs, id)
	}
	return nil
}

// exceptKnown takes those out of the generations that are in the catalog, and counts all that is there.
func (e *Engine) exceptKnown(ctx context.Context, queues map[store.QueueID]struct{}, logs map[store.LogID]struct{}) (known int, err error) {
	err = e.eachPair(ctx, catalogPrefix, pageSize, func(p store.Pair) error {
		r, err := decodeRecord(p)
		delete(queues, r.id)
		known++
		return err
	})
	if err != nil {
		return 0, err
	}
	err = e.eachPair(ctx, topicPrefix, pageSize, func(p store.Pair) error {
		r, err := decodeTopic(p)
		delete(logs, r.id)
		known++
		return err
	})
	return known, err
}

// stillOrphans gives those found now, with the moments of those that were known.
func stillOrphans[ID comparable](were map[ID]moment, found map[ID]struct{}, now moment) map[ID]moment {
	are := make(map[ID]moment, len(found))
	for id := range found {
		are[id] = now
		if since, ok := were[id]; ok {
			are[id] = since
		}
	}
	return are
}

// aged are those that have been orphans for long enough, in order.
func aged[ID cmp.Ordered](all map[ID]moment, now moment) []ID {
	var old []ID
	for id, since := range all {
		if now-since >= orphanAge {
			old = append(old, id)
		}
	}
	slices.Sort(old)
	return old
}
