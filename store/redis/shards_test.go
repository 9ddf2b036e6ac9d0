package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
	"github.com/dabba-mq/dabba/store/storetest"
)

func TestSlotOfATag(t *testing.T) {
	t.Parallel()
	if got := slotOf("123456789"); got != 0x31c3 { // the check value of the CRC
		t.Errorf("slotOf(123456789) = %#x, want 0x31c3", got)
	}
}

// TestShardsAreSpread: whatever the generation, its shards are on all leaders there are, as evenly as can be, give or take one
// or of very many shards two, when these share the slots evenly.
func TestShardsAreSpread(t *testing.T) {
	t.Parallel()
	for id := range store.QueueID(tags) {
		for _, n := range []uint32{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64} {
			used := make(map[int]bool)
			for shard := range n {
				used[shardTag(id, shard, n)] = true
			}
			if len(used) != int(n) || shardTag(id, 0, n) != int(id) {
				t.Fatalf("generation %d: %d tags for %d shards, the first %d", id, len(used), n, shardTag(id, 0, n))
			}
			for leaders := 2; leaders <= 8; leaders++ {
				has := make([]int, leaders)
				for tag := range used {
					has[slotOf(fmt.Sprintf("%02x", tag))*leaders/slots]++
				}
				most := (int(n)+leaders-1)/leaders + 1 + int(n)/48 // the slots of the tags are not quite at equal distances
				for leader, k := range has {
					if k > most || k == 0 && int(n) >= 2*leaders {
						t.Errorf("generation %d: leader %d of %d has %d of %d shards, want 1 to %d", id, leader, leaders, k, n, most)
					}
				}
			}
		}
	}
}

// shardNodes opens stores on the same keys, one after the other: none knows what others have learned.
type shardNodes struct {
	*testing.T
	o     Options
	clock *storetest.Clock
}

func newShardNodes(t *testing.T) *shardNodes {
	t.Helper()
	url, clock := serverURL(t), storetest.NewClock()
	return &shardNodes{t, Options{URL: url, Prefix: freshPrefix(t, url), Now: clock.Now}, clock}
}

func (n *shardNodes) open() *Store {
	n.Helper()
	s := open(n.T, n.o)
	n.Cleanup(func() {
		if err := s.Close(); err != nil {
			n.Errorf("Close() = %v, want nil", err)
		}
	})
	return s
}

func (n *shardNodes) must(what string, err error) {
	n.Helper()
	if err != nil {
		n.Fatalf("%s = %v, want nil", what, err)
	}
}

var inFour = store.Settings{Revision: 1, Shards: 4}

func (n *shardNodes) fill(s *Store, q store.QueueID, count int) {
	n.Helper()
	for i := range count {
		_, err := s.Send(n.Context(), store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{Payload: fmt.Append(nil, i), Size: 1}}})
		n.must("Send", err)
	}
}

// TestShardsAreLearned: whatever a process calls first, it finds out about the shards.
func TestShardsAreLearned(t *testing.T) {
	t.Parallel()
	n := newShardNodes(t)
	first := n.open()
	n.must("Configure", first.Configure(t.Context(), 1, inFour))
	n.must("Configure", first.Configure(t.Context(), 2, store.Settings{Revision: 1}))
	for _, c := range []struct {
		name string
		call func(context.Context, *Store) (any, error)
		want any
	}{
		{"Stats", func(ctx context.Context, s *Store) (any, error) {
			st, err := s.Stats(ctx, 1)
			return st.Ready, err
		}, int64(20)},
		{"Scan", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Scan(ctx, store.ScanParams{Queue: 1, Limit: 100, MaxBytes: 1000})
			return len(r.Views), err
		}, 20},
		{"Lookup", func(ctx context.Context, s *Store) (any, error) {
			v, err := s.Lookup(ctx, 1, 1, 3<<shardShift|1)
			return v.Seq, err
		}, store.Seq(3<<shardShift | 1)},
		{"Groups", func(ctx context.Context, s *Store) (any, error) {
			list, err := s.Groups(ctx, 1, nil, 10)
			return len(list), err
		}, 0},
		{"Sweep", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Sweep(ctx, 1)
			return r.Ready, err
		}, int64(20)},
		{"Claim", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: 100, MaxBytes: 1000})
			return len(r.Messages) > 0 && r.Ready, err
		}, true},
		{"Settle", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Settle(ctx, store.SettleParams{Queue: 1, Revision: 1, Items: []store.SettleItem{
				{Seq: 2<<shardShift | 1, Token: store.AnyToken, Target: store.Done},
				{Seq: 1<<shardShift | 1, Token: store.AnyToken, Target: store.Done},
			}})
			return fmt.Sprint(r.Outcomes), err
		}, fmt.Sprint([]store.Outcome{store.Settled, store.Settled})},
		{"Move out", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Move(ctx, store.MoveParams{Source: 1, Target: 2, Limit: 100})
			return r.Moved > 0 && r.Next != 0, err
		}, true},
		{"Move in", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Move(ctx, store.MoveParams{Source: 2, Target: 1, Limit: 100})
			return r.Moved > 0, err
		}, true},
		{"Purge", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Purge(ctx, 1, store.Selection{})
			return r.Purged, err
		}, int64(18)},
		{"Send", func(ctx context.Context, s *Store) (any, error) {
			r, err := s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: make([]store.Entry, 3)})
			return r.Count, err
		}, 3},
		{"Drop", func(ctx context.Context, s *Store) (any, error) { return nil, s.Drop(ctx, 1) }, nil},
	} {
		if c.name == "Stats" {
			n.fill(first, 1, 20)
		}
		got, err := c.call(t.Context(), n.open())
		if err != nil || got != c.want {
			t.Fatalf("%s by a process that does not know the queue = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	n.nothingLeft(first, 1)
}

// nothingLeft says that all shards of a queue of four are gone.
func (n *shardNodes) nothingLeft(s *Store, q store.QueueID) {
	n.Helper()
	for _, p := range s.shardsOf(q, 4).parts {
		if _, err := p.stats(n.Context(), q); !errors.Is(err, store.ErrGone) {
			n.Errorf("Stats of shard %d of a dropped queue = %v, want ErrGone", p.shard, err)
		}
	}
	if list, err := s.Queues(n.Context(), 0, 10); err != nil || len(list) > 0 && list[0] == q {
		n.Errorf("Queues = %v, %v, want it to be struck off", list, err)
	}
}

// TestHalfMadeShards: a process ends while it makes a queue. Whoever configures it next completes it, and whoever drops
// it leaves nothing.
func TestHalfMadeShards(t *testing.T) {
	t.Parallel()
	for made := 1; made < 4; made++ {
		n := newShardNodes(t)
		s := n.open()
		for _, p := range s.shardsOf(1, 4).parts[:made] {
			if p.shard == 0 {
				n.must("configureFirst", p.configureFirst(t.Context(), 1, inFour))
			} else {
				n.must("configure", p.configure(t.Context(), 1, inFour, true))
			}
		}
		gone := 0
		for range 4 {
			_, err := s.Send(t.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: make([]store.Entry, 1)})
			if errors.Is(err, store.ErrGone) {
				gone++
			} else {
				n.must("Send", err)
			}
		}
		if gone != 4-made {
			t.Errorf("with %d shards made %d of 4 sends were refused, want %d", made, gone, 4-made)
		}
		n.must("Configure", n.open().Configure(t.Context(), 1, inFour))
		n.fill(s, 1, 8)
		if st, err := n.open().Stats(t.Context(), 1); err != nil || st.Ready != int64(8+made) {
			t.Errorf("Stats of a completed queue = %+v, %v, want %d ready", st, err, 8+made)
		}
	}
}

// TestHalfDroppedShards: a process ends while it drops a queue. It stays enrolled, so that somebody drops the rest, and a
// process that is late with its settings brings none of it back.
func TestHalfDroppedShards(t *testing.T) {
	t.Parallel()
	for _, dropped := range [][]int{{3}, {1, 3}, {1, 2, 3}, {1, 2, 3, 0}} {
		n := newShardNodes(t)
		s := n.open()
		n.must("Configure", s.Configure(t.Context(), 1, inFour))
		n.fill(s, 1, 8)
		for _, i := range dropped {
			n.must("drop", s.shardsOf(1, 4).parts[i].drop(t.Context(), 1))
		}
		if list, err := s.Queues(t.Context(), 0, 10); len(dropped) < 4 && (err != nil || len(list) != 1) {
			t.Errorf("Queues with %v dropped = %v, %v, want it still", dropped, list, err)
		}
		if err := n.open().Configure(t.Context(), 1, inFour); !errors.Is(err, store.ErrGone) {
			t.Errorf("Configure with %v dropped = %v, want ErrGone", dropped, err)
		}
		n.must("Drop", n.open().Drop(t.Context(), 1))
		n.nothingLeft(s, 1)
		if err := n.open().Configure(t.Context(), 1, inFour); !errors.Is(err, store.ErrGone) {
			t.Errorf("Configure after %v and then all were dropped = %v, want ErrGone", dropped, err)
		}
		n.nothingLeft(s, 1)
	}
}

// TestMoveOfShardsStops: a process ends after each of the steps of a move from shards to shards. Another one concludes it, and
// each message is in one place.
func TestMoveOfShardsStops(t *testing.T) {
	t.Parallel()
	for steps := 1; steps <= 3; steps++ {
		n := newShardNodes(t)
		a := n.open()
		n.must("Configure", a.Configure(t.Context(), 1, inFour))
		n.must("Configure", a.Configure(t.Context(), 2, inFour))
		n.fill(a, 1, 12)
		noted, err := a.noteMoves(t.Context(), 1, 2)
		n.must("noteMoves", err)
		for i, p := range a.shards.of(1).parts {
			in, _, err := p.mark(t.Context(), store.MoveParams{Source: 1, Target: 2, Limit: 2, Label: "l"}, noted)
			n.must("mark", err)
			if len(in.moving) != 2 {
				t.Fatalf("mark in shard %d took %d messages, want 2", i, len(in.moving))
			}
			if steps > 1 {
				v, _, err := a.insert(t.Context(), in)
				if n.must("insert", err); v != inserted {
					t.Fatalf("insert = %v, want it done", v)
				}
			}
			if steps > 2 {
				n.must("delete", in.from.step(t.Context(), queueMoveDelete, 1, in.id))
			}
		}
		b := n.open()
		n.clock.Advance(movePatience)
		n.must("concludeMoves", b.concludeMoves(t.Context()))
		n.clock.Advance(moveMemory)
		n.must("concludeMoves", b.concludeMoves(t.Context()))
		from, err := b.Stats(t.Context(), 1)
		n.must("Stats", err)
		to, err := b.Stats(t.Context(), 2)
		n.must("Stats", err)
		if from.Ready != 4 || to.Ready != 8 {
			t.Errorf("after %d steps and the rest: %d in the source, %d in the target, want 4 and 8", steps, from.Ready, to.Ready)
		}
		for _, q := range []store.QueueID{1, 2} {
			for _, p := range b.shardsOf(q, 4).parts {
				if left, err := b.concludeMovesOf(t.Context(), q); left || err != nil {
					t.Errorf("moves of shard %d of queue %d: left %v, %v, want all forgotten", p.shard, q, left, err)
				}
			}
		}
	}
}

// TestNewsOfShards: what one process sends to any shard another one is told of.
func TestNewsOfShards(t *testing.T) {
	t.Parallel()
	n := newShardNodes(t)
	a, b := n.open(), n.open()
	n.must("Configure", a.Configure(t.Context(), 1, inFour))
	told := make(chan store.QueueID, 100)
	b.Watch(func(q store.QueueID) { told <- q })
	for i := range 4 {
		n.fill(a, 1, 1)
		select {
		case q := <-told:
			if q != 1 {
				t.Errorf("told of queue %d, want 1", q)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("send %d was not told to the other process", i)
		}
	}
}

// TestShardsOverACluster spreads a queue over three servers, of which one ends: what the others have goes on.
func TestShardsOverACluster(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	n := &shardNodes{T: t, o: Options{URL: fleet.URL, Silence: time.Second}}
	s := n.open()
	ctx := t.Context()
	n.must("Configure", s.Configure(ctx, 7, store.Settings{Revision: 1, Shards: 6}))
	n.must("Configure", s.Configure(ctx, 8, store.Settings{Revision: 1}))
	n.fill(s, 7, 12)
	st, err := s.Stats(ctx, 7)
	if n.must("Stats", err); st.Ready != 12 {
		t.Fatalf("Stats = %+v, want 12 ready", st)
	}
	on := make(map[*redistest.Server][]uint32)
	for _, p := range s.shards.of(7).parts {
		server := fleet.MasterOf(t, p.keysOf(7)[0])
		on[server] = append(on[server], p.shard)
	}
	if len(on) != 3 {
		t.Fatalf("the shards are on %d of 3 servers: %v", len(on), on)
	}
	r, err := s.Claim(ctx, store.ClaimParams{Queue: 7, Revision: 1, Max: 1, MaxBytes: 100, Visibility: time.Hour})
	if n.must("Claim", err); len(r.Messages) != 1 {
		t.Fatalf("Claim gave %d messages, want 1", len(r.Messages))
	}

	home := fleet.MasterOf(t, s.whole().keysOf(7)[0]) // of the first shard
	lost := 2 * len(on[home])
	home.Kill()
	acknowledged := 12
	for range 12 {
		_, err := s.Send(ctx, store.SendParams{Queue: 7, Revision: 1, Entries: []store.Entry{{Payload: []byte("n"), Size: 1}}})
		switch {
		case err == nil:
			acknowledged++
		case !errors.Is(err, store.ErrUnknown): // a connection broke
			t.Fatalf("Send without one of the servers = %v, want it to go to another", err)
		}
	}
	claimed := len(r.Messages)
	for range 100 {
		r, err := s.Claim(ctx, store.ClaimParams{Queue: 7, Revision: 1, Max: 10, MaxBytes: 100, Visibility: time.Hour})
		if err != nil {
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("Claim without one of the servers = %v, want messages or ErrUnavailable", err)
			}
			break // nothing is left that can be reached
		}
		claimed += len(r.Messages)
	}
	if claimed < acknowledged-lost || claimed > 24 {
		t.Errorf("claimed %d of %d messages without the server that had %d of them, want those of the others", claimed, acknowledged, lost)
	}
	if _, err := s.Stats(ctx, 7); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Stats without one of the servers = %v, want ErrUnavailable", err)
	}
	if _, err := s.Sweep(ctx, 7); err != nil {
		t.Errorf("Sweep without one of the servers = %v, want what the others say", err)
	}
}
