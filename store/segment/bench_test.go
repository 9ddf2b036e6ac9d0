package segment

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// BenchmarkSend measures durable sends of 1 KiB from many goroutines. It reports messages per sync.
func BenchmarkSend(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		for _, batch := range []int{1, 10} {
			b.Run(fmt.Sprintf("workers=%d/batch=%d", workers, batch), func(b *testing.B) {
				var syncs atomic.Int64
				s := newStore(b, Options{Events: Events{Wrote: func(int, int64, time.Duration, time.Duration) { syncs.Add(1) }}})
				entries := make([]store.Entry, batch)
				for i := range entries {
					entries[i] = store.Entry{Payload: make([]byte, 1024), Size: 1024}
				}
				b.ReportAllocs()
				b.ResetTimer()
				each(b, workers, func() {
					if _, err := s.Send(b.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: entries}); err != nil {
						b.Error(err)
					}
				})
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "msgs/s")
				b.ReportMetric(float64(b.N*batch)/float64(syncs.Load()), "msgs/sync")
			})
		}
	}
}

// BenchmarkReceive measures claiming and acknowledging 10 messages at a time, at several depths.
func BenchmarkReceive(b *testing.B) {
	for _, depth := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			s := newStore(b, Options{})
			fill(b, s, depth+10*b.N)
			b.ReportAllocs()
			b.ResetTimer()
			each(b, 16, func() { receive(b, s) })
			b.ReportMetric(float64(b.N*10)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

// newStore opens a store with queue 1 in a temporary folder. Closing it again at the end is harmless.
func newStore(tb testing.TB, o Options) *Store {
	tb.Helper()
	o.Dir, o.Now = tb.TempDir(), time.Now
	s, err := Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := s.Configure(tb.Context(), 1, store.Settings{Revision: 1}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// each runs fn b.N times on a number of goroutines.
func each(b *testing.B, workers int, fn func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				fn()
			}
		})
	}
	wg.Wait()
}

func fill(tb testing.TB, s *Store, n int) {
	tb.Helper()
	entries := make([]store.Entry, 1000)
	for i := range entries {
		entries[i] = store.Entry{Payload: make([]byte, 1024), Size: 1024}
	}
	for ; n > 0; n -= len(entries) {
		if _, err := s.Send(tb.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: entries[:min(n, len(entries))]}); err != nil {
			tb.Fatal(err)
		}
	}
}

func receive(b *testing.B, s *Store) {
	got, err := s.Claim(b.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 10, MaxBytes: 16 << 20, Visibility: time.Minute})
	if err != nil {
		b.Error(err)
		return
	}
	p := store.SettleParams{Queue: 1, Revision: 1}
	for _, m := range got.Messages {
		p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: got.Token, Target: store.Done})
	}
	if _, err := s.Settle(b.Context(), p); err != nil {
		b.Error(err)
	}
}
