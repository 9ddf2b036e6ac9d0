package redis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestPlainQueues makes random calls on queues for which lua/queue_quick.lua does, and on those for which it nearly does.
func TestPlainQueues(t *testing.T) {
	t.Parallel()
	for _, s := range []store.Settings{
		{}, {MaxReceives: 2}, {Retention: 10 * time.Second}, {DedupWindow: time.Minute}, {History: 5}, {MaxInFlight: 20}, {MaxMessages: 50},
	} {
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

func (w *twin) plainStep(rng *rand.Rand) {
	w.Helper()
	if n := rng.IntN(12); n > 8 {
		w.send(1+rng.IntN(30), 5, rng.IntN(2)*rng.IntN(2)*rng.IntN(2))
		return
	} else if n > 7 {
		w.clock.Advance(time.Duration(rng.IntN(2500)) * time.Millisecond)
		return
	}
	p := store.ClaimParams{
		Queue: 1, Revision: w.revision, Max: 1 + rng.IntN(20), MaxBytes: int64(1 + rng.IntN(60)), Consumer: fmt.Sprint(rng.IntN(3)),
		Visibility: time.Duration(rng.IntN(6000)) * time.Millisecond,
	}
	r := ask(w, fmt.Sprintf("Claim(%+v)", p), func(to store.Store) (store.ClaimResult, error) { return to.Claim(w.Context(), p) })
	settle := store.SettleParams{Queue: 1, Revision: w.revision, Strict: rng.IntN(2) == 0}
	odd := rng.IntN(3) == 0 // else all are acked
	for _, m := range r.Messages {
		item := store.SettleItem{Seq: m.Seq, Token: r.Token, Target: store.Done}
		if odd {
			item.Target = []store.Target{store.Done, store.Done, store.Ready, store.Dead, store.Leased}[rng.IntN(5)]
			item.After = time.Duration(rng.IntN(3)) * time.Second
			item.Seq += store.Seq(rng.IntN(2) * rng.IntN(2))
			item.Token -= store.Token(rng.IntN(2) * rng.IntN(2))
		}
		settle.Items = append(settle.Items, item)
	}
	ask(w, fmt.Sprintf("Settle(%+v)", settle), func(to store.Store) (store.SettleResult, error) { return to.Settle(w.Context(), settle) })
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
