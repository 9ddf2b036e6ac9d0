package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// cramped is a store that may have no room, as Redis has none at its maxmemory.
type cramped struct {
	store.Store
	room *room
}

// room says what there is none for: queues and topics that are not there yet, and pairs that take the place of none that is
// known.
type room struct{ noMaking, noPutting atomic.Bool }

func (c *cramped) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if c.room.noPutting.Load() && (prev == 0 || prev == store.AnyRevision) {
		return 0, fmt.Errorf("put %q: %w", key, store.ErrFull)
	}
	return c.Store.Put(ctx, key, value, prev)
}

func (c *cramped) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	if _, err := c.Stats(ctx, q); errors.Is(err, store.ErrGone) && c.room.noMaking.Load() {
		return fmt.Errorf("configure queue %d: %w", q, store.ErrFull)
	}
	return c.Store.Configure(ctx, q, s)
}

func (c *cramped) ConfigureLog(ctx context.Context, l store.LogID, s store.LogSettings) error {
	if _, err := c.Bounds(ctx, l); errors.Is(err, store.ErrGone) && c.room.noMaking.Load() {
		return fmt.Errorf("configure log %d: %w", l, store.ErrFull)
	}
	return c.Store.ConfigureLog(ctx, l, s)
}

// nodesStartWithoutRoom loses the only node of a full store, in which a queue and a topic are half made, and starts another
// one: without it nothing would ever make room.
func nodesStartWithoutRoom(c *cluster) {
	room := c.cramp()
	a := c.node()
	a.put(ref)
	a.send(ref, "m")
	half := named("half")
	room.noMaking.Store(true)
	_, _, err := a.engine.PutQueue(a.Context(), half, engine.DefaultConfig(), engine.Condition{})
	a.wantCode(err, engine.CodeStorageFull)
	_, _, err = a.engine.PutTopic(a.Context(), half, engine.DefaultTopicConfig(), engine.Condition{})
	a.wantCode(err, engine.CodeStorageFull)
	room.noPutting.Store(true)
	a.lose()

	b := c.node()
	b.ack(ref, b.one(ref).Receipt)
	_, err = b.engine.Send(b.Context(), half, engine.SendRequest{Messages: []engine.Message{{}}})
	b.wantCode(err, engine.CodeStorageFull)
	b.advance(time.Minute)
	room.noMaking.Store(false)
	room.noPutting.Store(false)
	b.send(half, "m")
	if _, err := b.engine.Produce(b.Context(), half, engine.ProduceRequest{Records: []engine.Record{{}}}); err != nil {
		c.Errorf("produce to a topic that was half made, when there is room: %v", err)
	}
}

// aNodeWithoutRoomTakesOver starts one that a full store cannot be told of, and then loses the other, which alone knows when its last
// message expires.
func aNodeWithoutRoomTakesOver(c *cluster) {
	room := c.cramp()
	a := c.node()
	a.put(ref, func(c *engine.QueueConfig) { c.Retention = time.Minute })
	room.noPutting.Store(true)
	b := c.node()
	a.send(ref, "m")
	a.lose()
	b.advance(2 * time.Minute)
	b.wantCounts(ref, engine.Counts{})
}

// cramp has the nodes that start from now on share a store that may have no room.
func (c *cluster) cramp() *room {
	room := new(room)
	c.through = func(s store.Store) store.Store { return &cramped{s, room} }
	return room
}
