package redis

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

// nodes are several processes on one server, behind something that gives each call to the next of them.
type nodes struct {
	all   [3]*Store
	calls atomic.Uint64
}

func (n *nodes) any() *Store { return n.all[n.calls.Add(1)%uint64(len(n.all))] }

func (n *nodes) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	return n.any().Send(ctx, p)
}

func (n *nodes) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	return n.any().Claim(ctx, p)
}

func (n *nodes) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	return n.any().Settle(ctx, p)
}

func (n *nodes) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	return n.any().Move(ctx, p)
}

func (n *nodes) Stats(ctx context.Context, q store.QueueID) (store.Stats, error) {
	return n.any().Stats(ctx, q)
}

func (n *nodes) Configure(ctx context.Context, q store.QueueID, s store.Settings) error {
	return n.any().Configure(ctx, q, s)
}

func (n *nodes) Drop(ctx context.Context, q store.QueueID) error { return n.any().Drop(ctx, q) }

func (n *nodes) Purge(ctx context.Context, q store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	return n.any().Purge(ctx, q, sel)
}

func (n *nodes) Scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	return n.any().Scan(ctx, p)
}

func (n *nodes) Lookup(ctx context.Context, q, origin store.QueueID, seq store.Seq) (store.View, error) {
	return n.any().Lookup(ctx, q, origin, seq)
}

func (n *nodes) Groups(ctx context.Context, q store.QueueID, after *string, limit int) ([]store.Group, error) {
	return n.any().Groups(ctx, q, after, limit)
}

func (n *nodes) Sweep(ctx context.Context, q store.QueueID) (store.SweepResult, error) {
	return n.any().Sweep(ctx, q)
}

func (n *nodes) Queues(ctx context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	return n.any().Queues(ctx, after, limit)
}

func (n *nodes) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	return n.any().Append(ctx, p)
}

func (n *nodes) Fetch(ctx context.Context, p store.FetchParams) (store.FetchResult, error) {
	return n.any().Fetch(ctx, p)
}

func (n *nodes) Seek(ctx context.Context, l store.LogID, partition uint32, at time.Time) (store.Offset, error) {
	return n.any().Seek(ctx, l, partition, at)
}

func (n *nodes) Bounds(ctx context.Context, l store.LogID) ([]store.Bounds, error) {
	return n.any().Bounds(ctx, l)
}

func (n *nodes) ConfigureLog(ctx context.Context, l store.LogID, s store.LogSettings) error {
	return n.any().ConfigureLog(ctx, l, s)
}

func (n *nodes) DropLog(ctx context.Context, l store.LogID) error { return n.any().DropLog(ctx, l) }

func (n *nodes) Trim(ctx context.Context, l store.LogID, partition uint32, before store.Offset) (store.Bounds, error) {
	return n.any().Trim(ctx, l, partition, before)
}

func (n *nodes) SweepLog(ctx context.Context, l store.LogID) (store.LogSweepResult, error) {
	return n.any().SweepLog(ctx, l)
}

func (n *nodes) Logs(ctx context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	return n.any().Logs(ctx, after, limit)
}

func (n *nodes) Get(ctx context.Context, key string) (store.Pair, error) {
	return n.any().Get(ctx, key)
}

func (n *nodes) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	return n.any().Put(ctx, key, value, prev)
}

func (n *nodes) Delete(ctx context.Context, key string, prev store.Revision) error {
	return n.any().Delete(ctx, key, prev)
}

func (n *nodes) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	return n.any().List(ctx, prefix, after, limit)
}

// One process is enough to hear what all do.
func (n *nodes) Watch(notify func(store.QueueID))           { n.all[0].Watch(notify) }
func (n *nodes) WatchLogs(notify func(store.LogID, uint32)) { n.all[0].WatchLogs(notify) }

func (n *nodes) Ping(ctx context.Context) error { return n.any().Ping(ctx) }
func (n *nodes) Info() store.Info               { return n.any().Info() }
func (n *nodes) Clock() store.Clock             { return n.any().Clock() }

func (n *nodes) Close() error {
	var err error
	for _, s := range n.all {
		err = errors.Join(err, s.Close())
	}
	return err
}

// TestContract gives each call of the suite to another process: none of them keeps anything that the others need.
func TestContract(t *testing.T) {
	url := serverURL(t)
	storetest.Run(t, storetest.Harness{
		Steps: true,
		Open: func(t *testing.T, c *storetest.Clock) store.Store {
			return openNodes(t, Options{URL: url, Prefix: freshPrefix(t, url), Now: c.Elapsed, Wall: c.Now})
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			before := s.(*nodes)
			if err := before.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
				t.Fatalf("Close() = %v, want nil", err)
			}
			return openNodes(t, before.all[0].o)
		},
	})
}

func openNodes(t *testing.T, o Options) *nodes {
	t.Helper()
	n := new(nodes)
	for i := range n.all {
		n.all[i] = open(t, o)
	}
	return n
}
