package redis

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
	"github.com/dabba-mq/dabba/store/storetest"
)

// many is more than a script does in one step.
const many = 2200

// twin is one queue in two stores with one clock: every answer of the one must be that of the other.
type twin struct {
	*testing.T
	clock    *storetest.Clock
	stores   [2]store.Store
	revision uint64
}

func newTwin(t *testing.T) *twin {
	t.Helper()
	url := serverURL(t)
	c := storetest.NewClock()
	w := &twin{T: t, clock: c}
	w.stores = [2]store.Store{open(t, Options{URL: url, Prefix: freshPrefix(t, url), Now: c.Now}), memory.New(memory.Options{Now: c.Now})}
	t.Cleanup(func() {
		if err := w.stores[0].Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return w
}

// ask makes a call on both stores and returns the answer.
func ask[T any](w *twin, call string, do func(store.Store) (T, error)) T {
	w.Helper()
	var answers [2]T
	for i, s := range w.stores {
		var err error
		if answers[i], err = do(s); err != nil {
			w.Fatalf("%s = %v, want nil", call, err)
		}
	}
	if diff := cmp.Diff(answers[1], answers[0], cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("%s differs from what the other store says (-other +redis):\n%s", call, diff)
	}
	return answers[0]
}

func (w *twin) configure(s store.Settings) {
	w.Helper()
	w.revision++
	s.Revision = w.revision
	ask(w, fmt.Sprintf("Configure(%+v)", s), func(to store.Store) (bool, error) {
		return true, to.Configure(w.Context(), 1, s)
	})
}

// send sends n messages in so many groups, the last of them ready after a delay.
func (w *twin) send(n, groups, delayed int) {
	w.Helper()
	list := make([]store.Entry, n)
	for i := range list {
		list[i] = store.Entry{
			Payload: fmt.Append(nil, i), Size: uint32(i % 7), Group: fmt.Sprint(i * 7919 % groups), Priority: uint8(i % 10),
		}
		if i >= n-delayed {
			list[i].Delay = time.Minute
		}
	}
	ask(w, "Send", func(to store.Store) (store.SendResult, error) {
		return to.Send(w.Context(), store.SendParams{Queue: 1, Revision: w.revision, Entries: list})
	})
}

func (w *twin) claim(limit int, d time.Duration) store.ClaimResult {
	w.Helper()
	return ask(w, "Claim", func(to store.Store) (store.ClaimResult, error) {
		return to.Claim(w.Context(), store.ClaimParams{
			Queue: 1, Revision: w.revision, Max: limit, MaxBytes: 1 << 40, Visibility: d, Consumer: "c",
		})
	})
}

// settle makes every n-th message of a claim something.
func (w *twin) settle(r store.ClaimResult, n int, target store.Target, after time.Duration) {
	w.Helper()
	p := store.SettleParams{Queue: 1, Revision: w.revision}
	for i, m := range r.Messages {
		if i%n == 0 {
			p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: r.Token, Target: target, After: after})
		}
	}
	ask(w, "Settle", func(to store.Store) (store.SettleResult, error) { return to.Settle(w.Context(), p) })
}

func (w *twin) stats() {
	w.Helper()
	ask(w, "Stats", func(to store.Store) (store.Stats, error) { return to.Stats(w.Context(), 1) })
}

func (w *twin) groups() {
	w.Helper()
	ask(w, "Groups", func(to store.Store) ([]store.Group, error) { return to.Groups(w.Context(), 1, nil, 10_000) })
}

var everySetting = []store.Settings{
	{MaxReceives: 2}, {Levels: 10, Ageing: time.Second}, {Mode: store.Fair}, {GroupInFlight: 2}, {GroupInterval: time.Second},
}

// TestManyLeasesEndAtOnce lets time do more than a script does in one step.
func TestManyLeasesEndAtOnce(t *testing.T) {
	t.Parallel()
	for _, s := range append(everySetting, store.Settings{Mode: store.FIFO}, store.Settings{Mode: store.FIFO, MaxReceives: 1}) {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			w := newTwin(t)
			w.configure(s)
			w.send(many, 700, 1100)
			w.claim(many, time.Minute)
			w.stats()
			w.clock.Advance(time.Minute)
			w.stats()
			w.settle(w.claim(many, time.Hour), 3, store.Ready, 0)
			w.groups()
			w.claim(many, time.Hour)
		})
	}
}

// TestSettingsOfAFullQueue changes what decides over the order of more messages and groups than one step arranges.
func TestSettingsOfAFullQueue(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.configure(store.Settings{})
	w.send(many, 1500, 300)
	r := w.claim(600, time.Hour)
	w.settle(r, 3, store.Ready, time.Minute)
	w.settle(r, 2, store.Dead, 0)
	for _, s := range everySetting {
		w.configure(s)
		w.stats()
		w.groups()
		w.settle(w.claim(150, 2*time.Second), 2, store.Done, 0)
		w.clock.Advance(time.Second)
	}
	w.configure(store.Settings{Mode: store.Fair, GroupInFlight: 1})
	w.configure(store.Settings{Mode: store.Fair, GroupInFlight: 2})
	w.claim(many, time.Hour)
	w.stats()
}

// TestTailOfAFullQueue turns Tail on and off.
func TestTailOfAFullQueue(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.configure(store.Settings{Mode: store.FIFO})
	w.send(many, 700, 0)
	for _, tail := range []bool{true, false, true} {
		w.configure(store.Settings{Mode: store.FIFO, Tail: tail})
		w.settle(w.claim(100, time.Hour), 2, store.Ready, 0)
		w.groups()
		w.settle(w.claim(50, time.Hour), 2, store.Ready, time.Minute)
		w.claim(20, time.Second)
		w.clock.Advance(time.Second)
	}
}

// TestSweepsOfAFullQueue removes more than one sweep may.
func TestSweepsOfAFullQueue(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.configure(store.Settings{Mode: store.Fair, Retention: time.Minute, History: 100})
	w.send(many, 700, 200)
	w.settle(w.claim(500, time.Hour), 2, store.Dead, 0)
	w.clock.Advance(2 * time.Minute)
	for range 4 {
		ask(w, "Sweep", func(to store.Store) (store.SweepResult, error) { return to.Sweep(w.Context(), 1) })
		w.groups()
	}
	for seq := store.Seq(1); seq <= many; seq += 7 {
		w.lookup(seq)
	}
}

// lookup looks a message up, which may be forgotten.
func (w *twin) lookup(seq store.Seq) {
	w.Helper()
	ask(w, fmt.Sprintf("Lookup(%d)", seq), func(to store.Store) (store.View, error) {
		v, err := to.Lookup(w.Context(), 1, 1, seq)
		if err != nil {
			return store.View{Reason: notFound(err)}, nil
		}
		return v, nil
	})
}

func notFound(err error) string {
	if errors.Is(err, store.ErrNotFound) {
		return "not found"
	}
	return err.Error()
}
