package redis

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// clusterServer starts a server in cluster mode, which is a cluster by itself: it refuses whatever spans slots.
func clusterServer(t *testing.T) running {
	t.Helper()
	bus, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	s := ownServer(t, "--cluster-enabled", "yes", "--cluster-port", decimal(uint64(bus)))
	if err := s.client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		info, err := s.client.ClusterInfo(t.Context()).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") {
			return s
		}
		<-tick.C
	}
	t.Fatal("the server in cluster mode does not serve after 20 s")
	return s
}

// ran notes which scripts were run.
type ran struct {
	mu   sync.Mutex
	sums map[string]bool
}

func (r *ran) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *ran) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *ran) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if w, ok := cmd.Args()[min(1, len(cmd.Args())-1)].(*witness); ok && cmd.Name() == "evalsha" {
			r.mu.Lock()
			r.sums[w.text] = true
			r.mu.Unlock()
		}
		return next(ctx, cmd)
	}
}

// TestClusterMode runs every script on a server that refuses keys of other slots, and those that are not declared.
func TestClusterMode(t *testing.T) {
	t.Parallel()
	url := clusterServer(t).url
	m := newMoverOn(t, url, url)
	r := &ran{sums: make(map[string]bool)}
	m.first.client.AddHook(r)
	m.next.client.AddHook(r)
	h := listenTo(m.first)
	m.send(moveTarget, "e")
	want(t, h.queues, moveTarget, "a send")
	useKV(m)
	useLog(m)
	want(t, h.logs, 30, "an append")
	useMoves(m)
	useQueue(m)
	useFences(m)
	useTime(m)

	r.sums[fenceScript.sum] = true // for each tag when it connects
	ran := slices.Sorted(maps.Keys(r.sums))
	for _, name := range scripts(t) {
		if _, found := slices.BinarySearch(ran, newScript(name).sum); !found {
			t.Errorf("script %s was not run in cluster mode", name)
		}
	}
}

func useKV(m *mover) {
	ctx, s := m.Context(), m.next
	first, err := s.Put(ctx, "k", []byte("v"), 0)
	m.must("Put", err)
	_, err = s.Put(ctx, "k", []byte("v"), first)
	m.must("Put", err)
	_, err = s.Get(ctx, "k")
	m.must("Get", err)
	_, err = s.List(ctx, "", "", 10)
	m.must("List", err)
	m.must("Delete", s.Delete(ctx, "k", store.AnyRevision))
}

func useLog(m *mover) {
	ctx, s, l := m.Context(), m.next, store.LogID(3)
	m.must("ConfigureLog", s.ConfigureLog(ctx, l, store.LogSettings{Revision: 1, Partitions: 2, RetentionAge: time.Hour}))
	record := []store.LogRecord{{Payload: []byte("x"), Size: 1}}
	_, err := s.Append(ctx, store.AppendParams{
		Log: l, Revision: 1, Once: &store.Once{Key: [16]byte{1}, Window: time.Hour},
		Parts: []store.AppendPart{{Records: record}, {Partition: 1, Records: record}},
	})
	m.must("Append", err)
	_, err = s.Fetch(ctx, store.FetchParams{Log: l, Max: 1, MaxBytes: 1})
	m.must("Fetch", err)
	_, err = s.Seek(ctx, l, 1, m.clock.Now())
	m.must("Seek", err)
	_, err = s.Bounds(ctx, l)
	m.must("Bounds", err)
	_, err = s.Trim(ctx, l, 0, 1)
	m.must("Trim", err)
	s.reclaim(ctx, l, 0)
	_, err = s.SweepLog(ctx, l)
	m.must("SweepLog", err)
	m.must("DropLog", s.DropLog(ctx, l))
}

func useFences(m *mover) {
	tell(m.next, firstBump)
	if l, err := m.next.countLosses(m.Context(), allOfThem); err != nil || l != (Loss{}) {
		m.Errorf("countLosses = %+v, %v; want nothing", l, err)
	}
}

func useMoves(m *mover) {
	in := m.steps(1)
	_, _, err := m.first.refuse(m.Context(), in)
	m.must("refuse", err)
	if _, err := m.first.conclude(m.Context(), in); err == nil {
		m.Error("conclude of a move that was refused = nil, want an error")
	}
	m.steps(1)
	m.conclude(time.Hour)
	m.want(moveTarget, "when the move is concluded", "e", "a", "b", "c")
	m.wantNothingLeft()
}

func useQueue(m *mover) {
	ctx, s, q := m.Context(), m.next, moveTarget
	m.send(q, make([]string, many)...) // too many for one step of the change that follows
	m.must("Configure", s.Configure(ctx, q, store.Settings{Revision: 2, Mode: store.Fair, History: 3, MaxMessages: 2 * many, DedupWindow: time.Hour}))
	_, err := s.Send(ctx, store.SendParams{
		Queue: q, Revision: 2, Once: &store.Once{Key: [16]byte{1}, Window: time.Hour},
		Entries: []store.Entry{
			{Group: "g", Dedup: store.DedupKey{1}, TTL: time.Hour},
			{Group: "h", Delay: time.Minute},
			{Payload: []byte("late"), TTL: time.Second},
		},
	})
	m.must("Send", err)
	got, err := s.Claim(ctx, store.ClaimParams{
		Queue: q, Revision: 2, Max: 2, MaxBytes: 100, Visibility: time.Hour, Attempt: [16]byte{1}, AttemptWindow: time.Hour,
	})
	m.must("Claim", err)
	_, err = s.Settle(ctx, store.SettleParams{Queue: q, Revision: 2, Items: []store.SettleItem{
		{Seq: got.Messages[0].Seq, Token: got.Token, Target: store.Done},
	}})
	m.must("Settle", err)
	_, err = s.Settle(ctx, store.SettleParams{
		Queue: q, Revision: 2, Select: &store.Selection{States: store.StateLeased}, Each: store.SettleItem{Target: store.Ready},
	})
	m.must("Settle", err)
	m.clock.Advance(time.Minute)
	_, err = s.Sweep(ctx, q)
	m.must("Sweep", err)
	_, err = s.Lookup(ctx, q, q, got.Messages[0].Seq)
	m.must("Lookup", err)
	groups, err := s.Groups(ctx, q, nil, 10)
	m.must("Groups", err)
	if len(groups) == 0 {
		m.Error("Groups: got none")
	}
	_, err = s.Purge(ctx, q, store.Selection{States: store.StateReady})
	m.must("Purge", err)
	_, err = s.Purge(ctx, q, store.Selection{})
	m.must("Purge", err)
	m.must("Drop", s.Drop(ctx, q))
}
