package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// plainSettings are of queues that lua/queue_quick.lua is for, and of some that it nearly is for.
var plainSettings = []store.Settings{
	{}, {MaxReceives: 2}, {Retention: 2 * time.Second}, {DedupWindow: time.Minute}, {History: 5}, {MaxInFlight: 20}, {MaxMessages: 50},
}

// TestPlainQueues makes random calls on plain queues, whose answers are those of the memory store.
func TestPlainQueues(t *testing.T) {
	t.Parallel()
	for _, s := range plainSettings {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(mergeSeed(t), 0))
			w := newTwin(t)
			w.configure(s)
			for range 150 {
				w.plainStep(rng)
			}
			w.stats()
			w.scan(store.Selection{})
		})
	}
}

// TestQuickIsTheSame makes the same calls on two queues, one of which has no call be quick, and compares all that is kept of them.
func TestQuickIsTheSame(t *testing.T) {
	t.Parallel()
	for _, set := range plainSettings {
		if set.History > 0 {
			continue
		}
		t.Run(fmt.Sprintf("%+v", set), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(mergeSeed(t), 0))
			w := newTwin(t)
			s := w.stores[0].(*Store)
			w.stores[1] = slow{s}
			w.configure(set)
			for range 30 {
				for range 5 {
					w.plainStep(rng)
				}
				w.claimTogether(rng)
				w.sameKeys(s)
			}
		})
	}
}

// slow makes the calls on queue 1 on queue 2 instead. That has a history, so that none is quick; their answers are the same.
type slow struct{ *Store }

func (s slow) Configure(ctx context.Context, _ store.QueueID, set store.Settings) error {
	set.History = 1
	return s.Store.Configure(ctx, 2, set)
}

func (s slow) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	p.Queue = 2
	return s.Store.Send(ctx, p)
}

func (s slow) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	p.Queue = 2
	return s.Store.Claim(ctx, p)
}

func (s slow) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	p.Queue = 2
	return s.Store.Settle(ctx, p)
}

// claimTogether makes some claims in one script.
func (w *twin) claimTogether(rng *rand.Rand) {
	w.Helper()
	calls := make([]store.ClaimParams, 1+rng.IntN(4))
	for i := range calls {
		calls[i] = w.plainClaim(rng)
	}
	ask(w, fmt.Sprintf("claims %+v", calls), func(to store.Store) ([]store.ClaimResult, error) {
		s, slowly := to.(slow)
		if !slowly {
			s.Store = to.(*Store)
		}
		of := slices.Clone(calls)
		for i := range of {
			if slowly {
				of[i].Queue = 2
			}
		}
		var results []store.ClaimResult
		for _, c := range s.whole().claimAlone(w.Context(), of) {
			if c.err != nil {
				return nil, c.err
			}
			results = append(results, c.result)
		}
		return results, nil
	})
}

// sameKeys compares what Redis has of queues 1 and 2.
func (w *twin) sameKeys(s *Store) {
	w.Helper()
	one, two := s.whole().keysOf(1), s.whole().keysOf(2)
	for i, name := range queueKeys {
		if name == "h" {
			continue // the history
		}
		if diff := cmp.Diff(contents(w, s, two[i]), contents(w, s, one[i])); diff != "" {
			w.Fatalf("key %q differs (-slow +quick):\n%s", name, diff)
		}
	}
}

// contents are what is kept in a key, but for the settings of a queue.
func contents(w *twin, s *Store, key string) any {
	w.Helper()
	var got any
	kind, err := s.client.Type(w.Context(), key).Result()
	switch kind {
	case "hash":
		var fields map[string]string
		fields, err = s.client.HGetAll(w.Context(), key).Result()
		delete(fields, "settings")
		got = fields
	case "zset":
		got, err = s.client.ZRangeWithScores(w.Context(), key, 0, -1).Result()
	case "stream":
		got, err = s.client.XRange(w.Context(), key, "-", "+").Result()
	case "none":
	default:
		w.Fatalf("%s is a %s", key, kind)
	}
	if err != nil {
		w.Fatal(err)
	}
	return got
}

func (w *twin) plainStep(rng *rand.Rand) {
	w.Helper()
	if n := rng.IntN(12); n > 8 {
		w.plainSend(rng)
		return
	} else if n > 7 {
		w.clock.Advance(time.Duration(rng.IntN(2500)) * time.Millisecond)
		return
	}
	p := w.plainClaim(rng)
	r := ask(w, fmt.Sprintf("Claim(%+v)", p), func(to store.Store) (store.ClaimResult, error) { return to.Claim(w.Context(), p) })
	settle := store.SettleParams{Queue: 1, Revision: w.revision, Strict: rng.IntN(2) == 0}
	odd := rng.IntN(5) == 0 // else all are acked
	for _, m := range r.Messages {
		item := store.SettleItem{Seq: m.Seq, Token: r.Token, Target: store.Done}
		if odd {
			item.Target = []store.Target{store.Done, store.Done, store.Ready, store.Dead, store.Leased}[rng.IntN(5)]
			item.After = time.Duration(rng.IntN(3)) * time.Second
			item.Seq += store.Seq(rng.IntN(2) * rng.IntN(2))
			item.Token -= store.Token(rng.IntN(2) * rng.IntN(2))
		}
		settle.Items = append(settle.Items, item)
		if rng.IntN(20) == 0 {
			settle.Items = append(settle.Items, item)
		}
	}
	ask(w, fmt.Sprintf("Settle(%+v)", settle), func(to store.Store) (store.SettleResult, error) { return to.Settle(w.Context(), settle) })
}

func (w *twin) plainClaim(rng *rand.Rand) store.ClaimParams {
	return store.ClaimParams{
		Queue: 1, Revision: w.revision, Max: 1 + rng.IntN(20), MaxBytes: int64(1 + rng.IntN(60)), Consumer: fmt.Sprint(rng.IntN(3)),
		Visibility: time.Duration(rng.IntN(6000)) * time.Millisecond,
	}
}

// plainSend sends some messages. Most are ready at once and have no end.
func (w *twin) plainSend(rng *rand.Rand) {
	w.Helper()
	p := store.SendParams{Queue: 1, Revision: w.revision, Entries: make([]store.Entry, 1+rng.IntN(30))}
	odd := rng.IntN(4)
	for i := range p.Entries {
		e := &p.Entries[i]
		e.Payload, e.Size, e.Group, e.Priority = fmt.Append(nil, i), uint32(i%7), fmt.Sprint(rng.IntN(5)), uint8(i%10)
		switch {
		case odd > 0 || rng.IntN(4) > 0:
		case rng.IntN(3) == 0:
			e.Delay = time.Duration(rng.IntN(3000)) * time.Millisecond
		case rng.IntN(2) == 0:
			e.NotBefore = w.clock.Now().Add(time.Duration(rng.IntN(3000)-500) * time.Millisecond)
		default:
			e.TTL = time.Duration(1+rng.IntN(3000)) * time.Millisecond
		}
		if rng.IntN(5) == 0 {
			e.Dedup[0] = byte(1 + rng.IntN(9))
		}
	}
	ask(w, fmt.Sprintf("Send(%+v)", p), func(to store.Store) (store.SendResult, error) { return to.Send(w.Context(), p) })
}

// TestPlainCallsAreQuick: a script that has to make all functions of the state machine asks for the time once more.
func TestPlainCallsAreQuick(t *testing.T) {
	t.Parallel()
	s := open(t, Options{URL: redistest.Start(t).URL})
	defer func() { _ = s.Close() }()
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1, Retention: time.Hour, MaxReceives: 3}); err != nil {
		t.Fatal(err)
	}
	asked := func() (n int) {
		t.Helper()
		stats, err := s.client.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		if _, text, ok := strings.Cut(stats, "cmdstat_time:calls="); ok {
			_, _ = fmt.Sscan(text, &n)
		}
		return n
	}
	before := asked()
	if err := roundTrip(t.Context(), s, make([]store.Entry, 10)); err != nil {
		t.Fatal(err)
	}
	if n := asked() - before; n != 3 {
		t.Errorf("a send, a claim and a settlement asked for the time %d times, want 3", n)
	}
}

// TestQuickLeavesNothing empties a plain queue of which messages came from another queue, and others are kept apart from the stream:
// these acks are not quick, or something of the messages would stay.
func TestQuickLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	s := w.stores[0].(*Store)
	w.configure(store.Settings{})
	if err := s.Configure(t.Context(), 2, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), store.SendParams{Queue: 2, Revision: 1, Entries: make([]store.Entry, 3)}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Move(t.Context(), store.MoveParams{Source: 2, Target: 1, Limit: 3}); err != nil || r.Moved != 3 {
		t.Fatalf("Move = %+v, %v, want 3 messages", r, err)
	}
	claim := func() (items []store.SettleItem) {
		t.Helper()
		r, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: w.revision, Max: 1000, MaxBytes: 1 << 30, Visibility: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Messages {
			items = append(items, store.SettleItem{Seq: m.Seq, Token: r.Token, Target: store.Done})
		}
		return items
	}
	settle := func(items []store.SettleItem) {
		t.Helper()
		if _, err := s.Settle(t.Context(), store.SettleParams{Queue: 1, Revision: w.revision, Items: items}); err != nil {
			t.Fatal(err)
		}
	}
	keys := s.whole().keysOf(1)
	key := func(name string) string { return keys[slices.Index(queueKeys, name)] }
	if contents(w, s, key("m")) == nil {
		t.Fatal(`key "m" is empty, want the messages that were moved`)
	}
	settle(claim())
	var left []store.SettleItem
	for range 6 {
		if _, err := s.Send(t.Context(), store.SendParams{Queue: 1, Revision: w.revision, Entries: make([]store.Entry, 1000)}); err != nil {
			t.Fatal(err)
		}
		var most []store.SettleItem
		for i, item := range claim() {
			if i%50 == 0 {
				left = append(left, item)
			} else {
				most = append(most, item)
			}
		}
		settle(most)
	}
	if contents(w, s, key("b")) == nil {
		t.Fatal(`key "b" is empty, want messages that are kept apart`)
	}
	for items := range slices.Chunk(left, 10) {
		settle(items)
	}
	if n, err := s.client.XLen(t.Context(), key("s")).Result(); n != 0 || err != nil {
		t.Errorf("the stream has %d messages, %v; want none", n, err)
	}
	for _, name := range []string{"t", "v", "a", "l", "d", "x", "e", "k", "b", "m"} {
		if got := contents(w, s, key(name)); got != nil {
			t.Errorf("key %q has %q, want nothing", name, fmt.Sprint(got))
		}
	}
}
