package engine_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store/memory"
)

var benchRef = engine.Ref{Tenant: "t", Name: "bench"}

func benchEngine(b *testing.B) *engine.Engine {
	b.Helper()
	s := memory.New(memory.Options{Now: time.Now})
	e, err := engine.Open(b.Context(), s, engine.Options{Now: time.Now, Rand: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := e.PutQueue(b.Context(), benchRef, engine.DefaultConfig(), engine.Condition{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	return e
}

func batch(n int) engine.SendRequest {
	r := engine.SendRequest{Messages: make([]engine.Message, n)}
	for i := range r.Messages {
		r.Messages[i].Body = make([]byte, 1024)
	}
	return r
}

func BenchmarkSend(b *testing.B) {
	e, req := benchEngine(b), batch(1)
	for b.Loop() {
		if _, err := e.Send(b.Context(), benchRef, req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCycle sends, receives and acks batches; ns/op is for the whole batch.
func BenchmarkCycle(b *testing.B) {
	for _, bc := range []struct {
		name string
		size int
	}{{"1", 1}, {"10", 10}} {
		b.Run(bc.name, func(b *testing.B) {
			e, req := benchEngine(b), batch(bc.size)
			receipts := make([]string, bc.size)
			for b.Loop() {
				if _, err := e.Send(b.Context(), benchRef, req); err != nil {
					b.Fatal(err)
				}
				got, err := e.Receive(b.Context(), benchRef, engine.ReceiveRequest{Max: bc.size})
				if err != nil || len(got.Messages) != bc.size {
					b.Fatalf("received %d messages, %v", len(got.Messages), err)
				}
				for i := range got.Messages {
					receipts[i] = got.Messages[i].Receipt
				}
				if _, err := e.Ack(b.Context(), benchRef, receipts, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParallel has many clients on one queue, each sending, receiving and acking one message.
func BenchmarkParallel(b *testing.B) {
	e, req := benchEngine(b), batch(1)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := e.Send(b.Context(), benchRef, req); err != nil {
				b.Error(err)
			}
			got, err := e.Receive(b.Context(), benchRef, engine.ReceiveRequest{})
			if err != nil || len(got.Messages) == 0 {
				continue
			}
			if _, err := e.Ack(b.Context(), benchRef, []string{got.Messages[0].Receipt}, ""); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkEmptyReceive is what polling an empty queue costs.
func BenchmarkEmptyReceive(b *testing.B) {
	e := benchEngine(b)
	for b.Loop() {
		if _, err := e.Receive(b.Context(), benchRef, engine.ReceiveRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWake is a send that wakes a waiting receive.
func BenchmarkWake(b *testing.B) {
	e, req := benchEngine(b), batch(1)
	wait := time.Minute
	got := make(chan *engine.Received)
	go func() {
		defer close(got)
		for {
			r, err := e.Receive(b.Context(), benchRef, engine.ReceiveRequest{Wait: &wait})
			if err != nil || len(r.Messages) == 0 {
				return
			}
			got <- r
		}
	}()
	for b.Loop() {
		if _, err := e.Send(b.Context(), benchRef, req); err != nil {
			b.Fatal(err)
		}
		r := <-got
		if _, err := e.Ack(b.Context(), benchRef, []string{r.Messages[0].Receipt}, ""); err != nil {
			b.Fatal(err)
		}
	}
	e.Drain()
	for range got {
	}
}

// BenchmarkOpen opens an engine on 10,000 queues.
func BenchmarkOpen(b *testing.B) {
	s := memory.New(memory.Options{Now: time.Now})
	o := engine.Options{Now: time.Now, Rand: rand.Reader}
	ctx := context.WithoutCancel(b.Context())
	e, err := engine.Open(ctx, s, o)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		ref := engine.Ref{Tenant: "t", Name: fmt.Sprint("q", i)}
		if _, _, err := e.PutQueue(ctx, ref, engine.DefaultConfig(), engine.Condition{}); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Close(ctx); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e, err := engine.Open(ctx, s, o)
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Close(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
