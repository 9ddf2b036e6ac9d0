package enginetest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/dabba-mq/dabba/store"
)

// meddler is the real store, with a place for a test to count calls, to act between a call and its answer, and to make
// a call fail. A hook that is nil does nothing.
type meddler struct {
	store.Store
	claims       atomic.Int64
	beforeClaim  hook
	afterClaim   hook
	beforeSend   hook
	beforeSettle hook
	beforeConfig hook
	beforeDrop   hook
	beforeStats  hook
	beforeMove   hook
	beforeSweep  hook
	beforeScan   hook
	beforePurge  hook
	beforeLookup hook
	afterLookup  hook
	afterGroups  hook
	afterSend    hook
	// uncounted, if set, says why a queue cannot be counted; nil if it can. unlisted is the same for what a listing begins with.
	uncounted atomic.Pointer[func(context.Context, store.QueueID) error]
	unlisted  atomic.Pointer[func(ctx context.Context, prefix string) error]

	// replicated has the store pass for one with replicas: copies that are asked for are noted in asked, not waited for.
	replicated atomic.Bool
	mu         sync.Mutex
	asked      []store.Acks
}

var _ store.Store = (*meddler)(nil)

// hook is called once for each time it is set.
type hook struct{ atomic.Pointer[func() error] }

func (h *hook) set(f func() error) { h.Store(&f) }

func (h *hook) call() error {
	if f := h.Swap(nil); f != nil {
		return (*f)()
	}
	return nil
}

func (m *meddler) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	m.claims.Add(1)
	if err := m.beforeClaim.call(); err != nil {
		return store.ClaimResult{}, err
	}
	res, err := m.Store.Claim(ctx, p)
	if hooked := m.afterClaim.call(); hooked != nil {
		return store.ClaimResult{}, hooked
	}
	return res, err
}

func (m *meddler) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	if err := m.beforeSend.call(); err != nil {
		return store.SendResult{}, err
	}
	p.Acks = m.copied(p.Acks)
	res, err := m.Store.Send(ctx, p)
	if hooked := m.afterSend.call(); hooked != nil {
		return store.SendResult{}, hooked
	}
	return res, err
}

func (m *meddler) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	p.Acks = m.copied(p.Acks)
	return m.Store.Append(ctx, p)
}

func (m *meddler) Info() store.Info {
	i := m.Store.Info()
	i.Replicated = i.Replicated || m.replicated.Load()
	return i
}

// copied notes what was asked for and says what to ask of the real store.
func (m *meddler) copied(a store.Acks) store.Acks {
	if !m.replicated.Load() {
		return a
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, a)
	return store.Acks{}
}

// lastAsked is what the last call asked for.
func (m *meddler) lastAsked() store.Acks {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		return store.Acks{Min: -1}
	}
	return m.asked[len(m.asked)-1]
}

func (m *meddler) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	if err := m.beforeSettle.call(); err != nil {
		return store.SettleResult{}, err
	}
	p.Acks = m.copied(p.Acks)
	return m.Store.Settle(ctx, p)
}

func (m *meddler) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	if err := m.beforeConfig.call(); err != nil {
		return err
	}
	return m.Store.Configure(ctx, q, s)
}

func (m *meddler) Stats(ctx context.Context, q store.QueueID) (store.Stats, error) {
	if err := m.beforeStats.call(); err != nil {
		return store.Stats{}, err
	}
	if refuse := m.uncounted.Load(); refuse != nil {
		if err := (*refuse)(ctx, q); err != nil {
			return store.Stats{}, err
		}
	}
	return m.Store.Stats(ctx, q)
}

func (m *meddler) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	if refuse := m.unlisted.Load(); refuse != nil {
		if err := (*refuse)(ctx, prefix); err != nil {
			return nil, err
		}
	}
	return m.Store.List(ctx, prefix, after, limit)
}

func (m *meddler) Drop(ctx context.Context, q store.QueueID) error {
	if err := m.beforeDrop.call(); err != nil {
		return err
	}
	return m.Store.Drop(ctx, q)
}

func (m *meddler) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	if err := m.beforeMove.call(); err != nil {
		return store.MoveResult{}, err
	}
	return m.Store.Move(ctx, p)
}

func (m *meddler) Sweep(ctx context.Context, q store.QueueID) (store.SweepResult, error) {
	if err := m.beforeSweep.call(); err != nil {
		return store.SweepResult{}, err
	}
	return m.Store.Sweep(ctx, q)
}

func (m *meddler) Scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	if err := m.beforeScan.call(); err != nil {
		return store.ScanResult{}, err
	}
	return m.Store.Scan(ctx, p)
}

func (m *meddler) Purge(ctx context.Context, q store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	if err := m.beforePurge.call(); err != nil {
		return store.PurgeResult{}, err
	}
	return m.Store.Purge(ctx, q, sel)
}

func (m *meddler) Lookup(ctx context.Context, q, origin store.QueueID, seq store.Seq) (store.View, error) {
	if err := m.beforeLookup.call(); err != nil {
		return store.View{}, err
	}
	v, err := m.Store.Lookup(ctx, q, origin, seq)
	if hooked := m.afterLookup.call(); hooked != nil {
		return store.View{}, hooked
	}
	return v, err
}

func (m *meddler) Groups(ctx context.Context, q store.QueueID, after *string, limit int) ([]store.Group, error) {
	found, err := m.Store.Groups(ctx, q, after, limit)
	if hooked := m.afterGroups.call(); hooked != nil {
		return nil, hooked
	}
	return found, err
}
