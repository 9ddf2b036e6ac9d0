package enginetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine/enginetest"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(_ *testing.T, now func() time.Time) enginetest.OpenStore {
		s := memory.New(memory.Options{Now: now})
		return func() (store.Store, func()) { return s, func() {} }
	})
	t.Run("nodes", func(t *testing.T) {
		t.Parallel()
		enginetest.RunNodes(t, func(_ *testing.T, now func() time.Time) enginetest.OpenStore {
			p := newParty(memory.New(memory.Options{Now: now}))
			return func() (store.Store, func()) { return party{p}, func() {} }
		})
	})
}

// party lets several engines share a store of one process: each is told what all do, and also what a backend for several
// processes tells.
type party struct{ *partyLine }

type partyLine struct {
	store.Store
	mu     sync.Mutex
	queues []func(store.QueueID)
	logs   []func(store.LogID, uint32)
}

func newParty(s store.Store) *partyLine {
	p := &partyLine{Store: s}
	s.Watch(p.tell)
	s.WatchLogs(func(l store.LogID, partition uint32) {
		p.mu.Lock()
		logs := p.logs
		p.mu.Unlock()
		for _, notify := range logs {
			notify(l, partition)
		}
	})
	return p
}

func (p *partyLine) tell(q store.QueueID) {
	p.mu.Lock()
	queues := p.queues
	p.mu.Unlock()
	for _, notify := range queues {
		notify(q)
	}
}

func (p party) Watch(notify func(store.QueueID)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = append(p.queues, notify)
}

func (p party) WatchLogs(notify func(store.LogID, uint32)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs = append(p.logs, notify)
}

func (p party) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	err := p.Store.Configure(ctx, q, s)
	p.tell(q)
	return err
}

func (p party) Drop(ctx context.Context, q store.QueueID) error {
	err := p.Store.Drop(ctx, q)
	p.tell(q)
	return err
}

func (p party) Sweep(ctx context.Context, q store.QueueID) (store.SweepResult, error) {
	res, err := p.Store.Sweep(ctx, q)
	if err == nil && (res.Ready > 0 || res.Expired > 0) {
		p.tell(q)
	}
	return res, err
}

func (p party) Close() error { return nil }
