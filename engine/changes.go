package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// On a shared store every change of the catalog is followed by a write of one key, whose revision is thereby a counter of
// changes. Each node reads it once a second, and reads the catalog when it has changed. What is decided by the catalog does
// not wait for that: see [Engine.current].
const (
	// changesKey is written for its revision only.
	changesKey = "changes"
	// changesEvery is how often a node looks at the counter.
	changesEvery = time.Second
	// changesShare is how many times as long as it took to read the catalog a node leaves it alone after that, so that very
	// many queues which change all the time do not keep the store busy.
	changesShare = 10
)

// changes is what a node knows of the counter. It belongs to one goroutine, but for poke.
type changes struct {
	poke chan struct{}
	due  *alarm
	seen store.Revision
}

func (c *changes) init() {
	c.poke = make(chan struct{}, 1)
	c.due = newAlarm(func() {
		select {
		case c.poke <- struct{}{}:
		default:
		}
	})
}

// announce has the other nodes look at the catalog, which was just changed. Should it fail, they find out with their next
// look at all of it.
func (e *Engine) announce(ctx context.Context) {
	if e.shared() {
		_, _ = e.store.Put(context.WithoutCancel(ctx), changesKey, nil, store.AnyRevision)
	}
}

// runChanges follows the changes of other nodes until ctx ends.
func (e *Engine) runChanges(ctx context.Context) {
	for {
		began := e.clock.moment()
		// A failure is reported by what looks at the whole catalog now and then: see beat.
		_ = e.followChanges(ctx)
		took := time.Duration(e.clock.moment() - began)
		e.clock.soonest(e.changes.due, e.clock.in(max(changesEvery, changesShare*took)))
		select {
		case <-ctx.Done():
			return
		case <-e.changes.poke:
		}
	}
}

// followChanges reads the catalog if the counter has moved since that was done last. What changes meanwhile is looked at with
// the next call.
func (e *Engine) followChanges(ctx context.Context) error {
	p, err := e.store.Get(ctx, changesKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("look for changes of the catalog: %w", err)
	}
	if p.Revision == e.changes.seen {
		return nil
	}
	if err := errors.Join(e.refresh(ctx), e.refreshTopics(ctx)); err != nil {
		return err
	}
	e.changes.seen = p.Revision
	return nil
}
