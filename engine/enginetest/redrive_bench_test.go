package enginetest_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store/segment"
)

// BenchmarkRedrive moves messages of 1 KiB there and back between two queues; ns/op is for 100,000 of them. Filtered, all
// are looked at.
func BenchmarkRedrive(b *testing.B) {
	const messages = 100_000
	for name, filter := range map[string]engine.Filter{
		"all":      {},
		"filtered": {Attributes: map[string]string{"n": "v"}},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := segment.Open(b.Context(), segment.Options{Dir: b.TempDir(), Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			ended := make(chan engine.Task, 1)
			e, err := engine.Open(b.Context(), s, engine.Options{
				Now: time.Now, Rand: rand.Reader,
				Events: engine.Events{TaskEnded: func(t engine.Task) { ended <- t }},
			})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := e.Close(context.WithoutCancel(b.Context())); err != nil {
					b.Error(err)
				}
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			})
			queues := [...]engine.Ref{{Tenant: "t", Name: "a"}, {Tenant: "t", Name: "b"}}
			for _, q := range queues {
				if _, _, err := e.PutQueue(b.Context(), q, engine.DefaultConfig(), engine.Condition{}); err != nil {
					b.Fatal(err)
				}
			}
			req := engine.SendRequest{Messages: make([]engine.Message, engine.MaxBatch)}
			for i := range req.Messages {
				req.Messages[i].Body = make([]byte, 1024)
				req.Messages[i].Attributes = []engine.Attribute{{Name: "n", Value: []byte("v")}}
			}
			for range messages / engine.MaxBatch {
				if _, err := e.Send(b.Context(), queues[0], req); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := e.Redrive(b.Context(), queues[0], engine.RedriveRequest{To: queues[1].Name, Filter: filter}); err != nil {
					b.Fatal(err)
				}
				if t := <-ended; t.Moved != messages {
					b.Fatalf("moved %d messages (%s)", t.Moved, t.Error)
				}
				queues[0], queues[1] = queues[1], queues[0]
			}
		})
	}
}
