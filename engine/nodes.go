package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Nodes are the engines that share a store. Each has a pair in the key-value part of it, node/<name>, and writes it again
// and again. One whose pair has not changed for a while, by the clock of whoever looks, is gone: the first to notice strikes
// it off, and all others do what it would have done. That is harmless should it come back, since every piece of work is
// either decided in the store or guarded by a revision.
const (
	nodePrefix = "node/"
	// beatEvery is how often a node shows that it is there, and looks at the others.
	beatEvery = 2 * time.Second
	// beatRetry is when that is tried again after a failure.
	beatRetry = time.Second
	// nodeLost is after how long without a sign of it a node is gone.
	nodeLost = moment(6 * time.Second)
	// refreshEvery is how often a node reads the whole catalog whether or not it was announced that it has changed. What
	// concerns a call it finds out at once, and what was announced within a second: see changes.
	refreshEvery = moment(10 * time.Second)
	// nodeClosing bounds the last word of a node.
	nodeClosing = 2 * time.Second
)

// nodes is what an engine knows of the others. Without a name it is alone, and knows nothing.
type nodes struct {
	// poke has the goroutine look; due rings when it is time.
	poke chan struct{}
	due  *alarm

	// These belong to the goroutine.
	revision  store.Revision      // of this node's own pair; 0 before it was written
	doubted   bool                // the store may have lost what was read of it
	seen      map[string]sighting // by name
	beaten    moment              // when the last beat succeeded
	refreshed moment              // when the catalog was read
	failing   bool                // the last beat failed
	orphans   orphans

	mu sync.Mutex
	// gone are those whose work is free to take.
	gone map[string]struct{}
}

// sighting is the revision of a node's pair, and since when it is known.
type sighting struct {
	revision store.Revision
	since    moment
}

func (n *nodes) init() {
	n.poke = make(chan struct{}, 1)
	n.seen, n.gone = make(map[string]sighting), make(map[string]struct{})
	n.due = newAlarm(func() {
		select {
		case n.poke <- struct{}{}:
		default:
		}
	})
}

// shared says that there may be other engines on the store.
func (e *Engine) shared() bool { return e.node != "" }

// isGone says that a node does not work any more. Nothing is known of those that were struck off before this one started.
func (n *nodes) isGone(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, gone := n.gone[name]
	return gone
}

func (n *nodes) setGone(name string, gone bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if gone {
		n.gone[name] = struct{}{}
	} else {
		delete(n.gone, name)
	}
}

// runNodes shows that this node is there, and looks after what others have changed or left, until ctx ends.
func (e *Engine) runNodes(ctx context.Context) {
	for {
		again := beatEvery
		err := e.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			again = beatRetry
			if !e.nodes.failing && e.events.JanitorFailed != nil {
				e.events.JanitorFailed(Ref{}, err)
			}
		}
		e.nodes.failing = err != nil
		e.clock.soonest(e.nodes.due, e.clock.in(again))
		select {
		case <-ctx.Done():
			return
		case <-e.nodes.poke:
		}
	}
}

// beat is one sign of life, and one look at the others and, now and then, at the catalog.
func (e *Engine) beat(ctx context.Context) error {
	n := &e.nodes
	untold := e.showNode(ctx)
	if untold != nil {
		untold = fmt.Errorf("tell the other nodes of this one: %w", untold)
	}
	if untold != nil && !errors.Is(untold, store.ErrFull) {
		return untold // a full store cannot be told, and needs all the more that what is due in it goes
	}
	if n.doubted {
		if err := e.loadSecret(ctx); err != nil {
			return fmt.Errorf("load the engine's secret again: %w", err)
		}
	}
	now := e.clock.moment()
	// Others have the same trouble as this node had, so what they did not do meanwhile says nothing.
	deaf := now-n.beaten > 2*moment(beatEvery)
	n.beaten = now
	lost, err := e.lookForNodes(ctx, now, deaf)
	if err != nil {
		return err
	}
	if !n.doubted && len(lost) == 0 && now-n.refreshed < refreshEvery {
		return untold
	}
	err = errors.Join(e.refresh(ctx), e.refreshTopics(ctx))
	if len(lost) > 0 {
		e.takeOver(lost) // also when some of what they have changed cannot be learnt yet
	}
	if err != nil {
		return fmt.Errorf("look for changes of other nodes: %w", err)
	}
	n.refreshed, n.doubted = now, false
	if now-n.orphans.looked >= orphanAge {
		n.orphans.looked = now
		return errors.Join(untold, e.dropOrphans(ctx, now))
	}
	return untold
}

// showNode writes this node's pair. If the one that it has written before is not there, the store has lost it, with the last
// moment before a failover or with everything; or another node took this one for gone.
func (e *Engine) showNode(ctx context.Context) error {
	n, key, value := &e.nodes, nodePrefix+e.node, []byte(`{"version":1}`)
	if n.revision != 0 {
		rev, err := e.store.Put(ctx, key, value, n.revision)
		if err == nil {
			n.revision = rev
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		n.doubted = true
	}
	rev, err := e.store.Put(ctx, key, value, store.AnyRevision)
	if err == nil {
		n.doubted = true // if the store lost something before the first one, nobody has noticed
	}
	n.revision = rev
	return err
}

// lookForNodes gives those that have gone since the last look.
func (e *Engine) lookForNodes(ctx context.Context, now moment, deaf bool) (lost []string, err error) {
	n := &e.nodes
	there := make(map[string]bool)
	err = e.eachPair(ctx, nodePrefix, pageSize, func(p store.Pair) error {
		name := strings.TrimPrefix(p.Key, nodePrefix)
		was, known := n.seen[name]
		switch {
		case name == e.node:
			return nil
		case !known || was.revision != p.Revision || deaf:
			n.seen[name] = sighting{p.Revision, now}
			n.setGone(name, false)
		case now-was.since >= nodeLost:
			err := e.store.Delete(ctx, p.Key, p.Revision)
			if err == nil {
				return nil // which leaves it among those that are not there
			}
			if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		there[name] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for other nodes: %w", err)
	}
	for name := range n.seen {
		if !there[name] {
			delete(n.seen, name)
			lost = append(lost, name)
		}
	}
	return lost, nil
}

// takeOver has everything looked at that those who have gone may have been looking after.
func (e *Engine) takeOver(lost []string) {
	for _, name := range lost {
		e.nodes.setGone(name, true)
	}
	for q := range e.catalog.all() {
		e.janitor.add(q)
	}
	for t := range e.topics.all() {
		e.topics.due.add(t)
	}
	e.tasks.askLook()
	e.doubtFireTimes(e.store.Clock())
	e.timetable.survey.ring()
}

// leaveNodes is the last word of a node whose work has ended, so that others need not wait. They notice without it.
func (e *Engine) leaveNodes(ctx context.Context) {
	if !e.shared() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodeClosing)
	defer cancel()
	_ = e.store.Delete(ctx, nodePrefix+e.node, store.AnyRevision)
}
