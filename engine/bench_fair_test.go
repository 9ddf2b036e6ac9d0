package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store/segment"
)

// BenchmarkQuietGroup reports how long a message of a quiet group takes from its send to its receive, alone in a fair
// queue and beside a group with a backlog of 100,000, while receivers work all the time:
//
//	go test ./engine -run xxx -bench QuietGroup -benchtime 300x
func BenchmarkQuietGroup(b *testing.B) {
	b.Run("alone", func(b *testing.B) { quietGroup(b, 0) })
	b.Run("beside 100,000", func(b *testing.B) { quietGroup(b, 100_000) })
}

func quietGroup(b *testing.B, backlog int) {
	s, err := segment.Open(b.Context(), segment.Options{Dir: b.TempDir(), Now: time.Now, Rand: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it is thrown away
	e, err := engine.Open(b.Context(), s, engine.Options{Now: time.Now, Rand: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.WithoutCancel(b.Context())) //nolint:errcheck // it is thrown away
	config := engine.DefaultConfig()
	config.Fair = true
	if _, _, err := e.PutQueue(b.Context(), benchRef, config, engine.Condition{}); err != nil {
		b.Fatal(err)
	}
	sendGroup(b, e, "noisy", backlog)

	ctx, stop := context.WithCancel(b.Context())
	arrived := make(chan time.Time, 1)
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() { receiveAll(ctx, b, e, arrived) })
	}
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		sendGroup(b, e, "quiet", 1)
		took = append(took, (<-arrived).Sub(begun))
		if backlog > 0 {
			sendGroup(b, e, "noisy", 10) // so that the backlog lasts
		}
	}
	stop()
	done.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/float64(time.Millisecond), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100])/float64(time.Millisecond), "p99-ms")
}

// sendGroup sends n messages of 1 KiB in one group.
func sendGroup(b *testing.B, e *engine.Engine, group string, n int) {
	for n > 0 {
		req := batch(min(n, engine.MaxBatch))
		for i := range req.Messages {
			req.Messages[i].Group = group
		}
		if _, err := e.Send(b.Context(), benchRef, req); err != nil {
			b.Fatal(err)
		}
		n -= len(req.Messages)
	}
}

// receiveAll receives and acks until ctx ends, and tells when a message of the quiet group comes.
func receiveAll(ctx context.Context, b *testing.B, e *engine.Engine, arrived chan<- time.Time) {
	wait := 20 * time.Second
	for ctx.Err() == nil {
		got, err := e.Receive(ctx, benchRef, engine.ReceiveRequest{Max: 10, Wait: &wait})
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				b.Error(err)
			}
			return
		}
		var receipts []string
		for _, d := range got.Messages {
			receipts = append(receipts, d.Receipt)
			if d.Group == "quiet" {
				arrived <- time.Now()
			}
		}
		if len(receipts) == 0 {
			continue
		}
		if _, err := e.Ack(ctx, benchRef, receipts, ""); err != nil && ctx.Err() == nil {
			b.Error(err)
		}
	}
}
