package enginetest

import (
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// empty takes everything out of the store, as somebody may do behind the back of the nodes.
func (n *node) empty() {
	n.Helper()
	ctx := n.Context()
	pairs, err := n.store.List(ctx, "", "", 1000)
	for _, p := range pairs {
		if err == nil {
			err = n.store.Delete(ctx, p.Key, store.AnyRevision)
		}
	}
	queues, failed := n.store.Queues(ctx, 0, 1000)
	for _, id := range queues {
		if failed == nil {
			failed = n.store.Drop(ctx, id)
		}
	}
	if err != nil || failed != nil {
		n.Fatalf("empty the store: %v, %v", err, failed)
	}
}

// aStoreThatWasEmptiedWorksOn takes everything away under two nodes, and starts a third one before they have noticed, which
// finds nothing. Within seconds all of them say that the queue is not there, it can be made again, and what one of them gives
// the others understand.
func aStoreThatWasEmptiedWorksOn(c *cluster) {
	a, b := c.two()
	a.put(ref)
	a.send(ref, "lost")
	b.one(ref)
	w := b.wait(ref, time.Minute)
	a.cable.deaf.Store(true) // nobody announces it
	b.cable.deaf.Store(true)
	a.empty()
	third := c.node()
	a.advance(2500 * time.Millisecond)
	select {
	case <-w.done:
		b.wantCode(w.err, engine.CodeNotFound)
	default:
		c.Error("a receive still waits in a queue that is gone")
	}
	for _, n := range []*node{a, b, third} {
		_, err := n.engine.Queue(n.Context(), ref)
		n.wantCode(err, engine.CodeNotFound)
	}
	a.cable.deaf.Store(false)
	b.cable.deaf.Store(false)
	a.put(ref)
	a.send(ref, "m")
	third.ack(ref, b.one(ref).Receipt)
	a.wantCounts(ref, engine.Counts{})
}
