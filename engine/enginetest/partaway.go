package enginetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// aNodeStartsWhileAPartIsAway starts one while the part of the store that has a queue and a topic does not answer.
func aNodeStartsWhileAPartIsAway(c *cluster) {
	a, topic := c.node(), named("topic")
	half := &half{away: make(map[uint64]bool)}
	for id, name := range a.generations("here", "there") {
		half.away[uint64(id)] = name == "there"
	}
	if _, _, err := a.engine.PutTopic(a.Context(), topic, engine.DefaultTopicConfig(), engine.Condition{}); err != nil {
		c.Fatal(err)
	}
	logs, err := a.store.Logs(a.Context(), 0, 10)
	if err != nil || len(logs) != 1 {
		c.Fatalf("logs are %v (%v), want one", logs, err)
	}
	half.away[uint64(logs[0])] = true

	half.silent.Store(true)
	c.through = func(s store.Store) store.Store { return halfStore{s, half} }
	b := c.node()
	b.ack(named("here"), b.one(named("here")).Receipt)
	_, err = b.engine.Receive(b.Context(), named("there"), engine.ReceiveRequest{Wait: new(time.Duration)})
	b.wantCode(err, engine.CodeUnavailable)
	_, err = b.engine.Produce(b.Context(), topic, engine.ProduceRequest{Records: []engine.Record{{}}})
	b.wantCode(err, engine.CodeUnavailable)

	// Whoever is lost now is lost to b, too, though b cannot learn what it has changed there.
	a.put(named("there"), func(c *engine.QueueConfig) { c.Visibility = time.Hour })
	a.put(named("to"))
	a.send(named("here"), numbered(100)...)
	task, err := a.engine.Redrive(a.Context(), named("here"), engine.RedriveRequest{To: "to", Rate: 10})
	if err != nil {
		c.Fatal(err)
	}
	a.lose()
	b.advance(25 * time.Second)
	if t := b.look(task.ID); t.State != engine.TaskDone {
		c.Errorf("the task of a node that was lost meanwhile is %s, want %s", t.State, engine.TaskDone)
	}
	b.wantCounts(named("to"), engine.Counts{Ready: 100})

	half.silent.Store(false)
	b.ack(named("there"), b.one(named("there")).Receipt)
	if _, err := b.engine.Produce(b.Context(), topic, engine.ProduceRequest{Records: []engine.Record{{}}}); err != nil {
		c.Errorf("produce when all of the store is there again: %v", err)
	}
}

// half is the part of a store that may be silent, by the generations that are there.
type half struct {
	away   map[uint64]bool
	silent atomic.Bool
}

// halfStore refuses what is for the silent part, and what is for all.
type halfStore struct {
	store.Store
	*half
}

func (h halfStore) refuse(id uint64) error {
	if h.silent.Load() && h.away[id] {
		return fmt.Errorf("a part of the store is silent: %w", store.ErrUnavailable)
	}
	return nil
}

func (h halfStore) refuseAll() error {
	for id, away := range h.away {
		if away {
			return h.refuse(id)
		}
	}
	return nil
}

func (h halfStore) Queues(ctx context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	if err := h.refuseAll(); err != nil {
		return nil, err
	}
	return h.Store.Queues(ctx, after, limit)
}

func (h halfStore) Logs(ctx context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	if err := h.refuseAll(); err != nil {
		return nil, err
	}
	return h.Store.Logs(ctx, after, limit)
}

func (h halfStore) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	if err := h.refuse(uint64(q)); err != nil {
		return err
	}
	return h.Store.Configure(ctx, q, s)
}

func (h halfStore) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	if err := h.refuse(uint64(p.Queue)); err != nil {
		return store.ClaimResult{}, err
	}
	return h.Store.Claim(ctx, p)
}

func (h halfStore) Sweep(ctx context.Context, q store.QueueID) (store.SweepResult, error) {
	if err := h.refuse(uint64(q)); err != nil {
		return store.SweepResult{}, err
	}
	return h.Store.Sweep(ctx, q)
}

func (h halfStore) ConfigureLog(ctx context.Context, l store.LogID, s store.LogSettings) error {
	if err := h.refuse(uint64(l)); err != nil {
		return err
	}
	return h.Store.ConfigureLog(ctx, l, s)
}

func (h halfStore) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	if err := h.refuse(uint64(p.Log)); err != nil {
		return store.AppendResult{}, err
	}
	return h.Store.Append(ctx, p)
}

func (h halfStore) SweepLog(ctx context.Context, l store.LogID) (store.LogSweepResult, error) {
	if err := h.refuse(uint64(l)); err != nil {
		return store.LogSweepResult{}, err
	}
	return h.Store.SweepLog(ctx, l)
}
