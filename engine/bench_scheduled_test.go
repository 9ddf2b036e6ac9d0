package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store/segment"
)

// BenchmarkScheduled sends a million messages that become ready one by one over 100 seconds, with receivers that take and
// ack them. It reports how late they are received, and the heap each takes before the first is due. It also reports how
// late the machine let a timer of the process be at most; a maximum near that is not the engine's doing. One round takes
// about three minutes:
//
//	go test ./engine -run xxx -bench Scheduled -benchtime 1x
func BenchmarkScheduled(b *testing.B) {
	const (
		messages  = 1_000_000
		spread    = 100 * time.Second
		lead      = 60 * time.Second // for the sends
		senders   = 4
		receivers = 8
	)
	for range b.N {
		s, err := segment.Open(b.Context(), segment.Options{Dir: b.TempDir(), Now: time.Now, Rand: rand.Reader})
		if err != nil {
			b.Fatal(err)
		}
		e, err := engine.Open(b.Context(), s, engine.Options{Now: time.Now, Rand: rand.Reader})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := e.PutQueue(b.Context(), benchRef, engine.DefaultConfig(), engine.Condition{}); err != nil {
			b.Fatal(err)
		}

		empty := liveHeap()
		begun := time.Now()
		first := begun.Add(lead)
		schedule(b, e, messages, senders, func(i int) time.Time { return first.Add(time.Duration(i) * spread / messages) })
		b.ReportMetric(messages/time.Since(begun).Seconds(), "sends/s")
		b.ReportMetric(float64(liveHeap()-empty)/messages, "heap-B/msg")
		if late := time.Since(first); late > 0 {
			b.Fatalf("the sends took %v longer than the %v that this benchmark gives them", late, lead)
		}

		stop := watchTimer(b)
		late := drain(b, e, messages, receivers)
		b.ReportMetric(float64(stop())/float64(time.Millisecond), "timer-max-ms")
		slices.Sort(late)
		for _, q := range []struct {
			name string
			of   float64
		}{{"p50-ms", 0.5}, {"p99-ms", 0.99}, {"max-ms", 1}} {
			at := late[min(int(q.of*float64(len(late))), len(late)-1)]
			b.ReportMetric(float64(at)/float64(time.Millisecond), q.name)
		}
		// A store counts time in milliseconds.
		if early := -late[0]; early > 2*time.Millisecond {
			b.Errorf("a message was received %v before its time", early)
		}

		if err := e.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}

// liveHeap is what the heap holds that is still in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one let finalizers free
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// watchTimer looks until it is stopped how late a timer is; stop gives the most.
func watchTimer(b *testing.B) (stop func() time.Duration) {
	b.Helper()
	ended, most := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		latest := time.Duration(0)
		for {
			set := time.Now()
			select {
			case <-ended:
				most <- latest
				return
			case <-time.After(time.Millisecond):
				latest = max(latest, time.Since(set)-time.Millisecond)
			}
		}
	}()
	return func() time.Duration {
		close(ended)
		return <-most
	}
}

// schedule sends n messages in batches, each with a time of its own, which its body says.
func schedule(b *testing.B, e *engine.Engine, n, senders int, due func(i int) time.Time) {
	var next atomic.Int64
	var done sync.WaitGroup
	for range senders {
		done.Go(func() {
			for {
				from := int(next.Add(engine.MaxBatch)) - engine.MaxBatch
				if from >= n {
					return
				}
				req := engine.SendRequest{Messages: make([]engine.Message, min(engine.MaxBatch, n-from))}
				for i := range req.Messages {
					at := due(from + i)
					body := binary.LittleEndian.AppendUint64(make([]byte, 0, 100), uint64(at.UnixNano()))
					req.Messages[i] = engine.Message{Body: body[:100], DeliverAt: &at}
				}
				if _, err := e.Send(b.Context(), benchRef, req); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	done.Wait()
}

// drain receives and acks n messages and gives how late each was received.
func drain(b *testing.B, e *engine.Engine, n, receivers int) []time.Duration {
	wait := 20 * time.Second
	var mu sync.Mutex
	late := make([]time.Duration, 0, n)
	var left atomic.Int64
	left.Store(int64(n))
	var done sync.WaitGroup
	for range receivers {
		done.Go(func() {
			var receipts []string
			for left.Load() > 0 && !b.Failed() {
				got, err := e.Receive(b.Context(), benchRef, engine.ReceiveRequest{Max: 100, Wait: &wait})
				now := time.Now()
				if err != nil {
					b.Error(err)
					return
				}
				receipts = receipts[:0]
				mu.Lock()
				for i := range got.Messages {
					m := &got.Messages[i]
					late = append(late, now.Sub(time.Unix(0, int64(binary.LittleEndian.Uint64(m.Body)))))
					receipts = append(receipts, m.Receipt)
				}
				mu.Unlock()
				if len(receipts) == 0 {
					continue
				}
				if _, err := e.Ack(b.Context(), benchRef, receipts, ""); err != nil {
					b.Error(err)
					return
				}
				if left.Add(-int64(len(receipts))) <= 0 {
					e.Drain() // the others need not wait any longer
				}
			}
		})
	}
	done.Wait()
	return late
}
