package enginetest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
	"github.com/dabba-mq/dabba/store/redis"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

var hot = engine.Ref{Tenant: "t", Name: "hot"}

func withShards(n uint32) engine.QueueConfig {
	c := engine.DefaultConfig()
	c.Shards = n
	c.Retry.Policy = engine.RetryNone
	return c
}

// startNodes opens engines on one Redis.
func startNodes(t *testing.T, n int) []*engine.Engine {
	t.Helper()
	url := redistest.Shared(t)
	o := redis.Options{URL: url, Prefix: redistest.Prefix(t, url)}
	nodes := make([]*engine.Engine, n)
	for i := range nodes {
		s, err := redis.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close the store: %v", err)
			}
		})
		nodes[i] = startEngine(t, s, fmt.Sprint("node", i))
	}
	return nodes
}

func startEngine(t *testing.T, s store.Store, node string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), s, engine.Options{Now: time.Now, Rand: rand.Reader, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return e
}

func sendHot(t *testing.T, e *engine.Engine, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := e.Send(t.Context(), hot, engine.SendRequest{Messages: []engine.Message{{Body: []byte(body)}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShards lets two nodes serve a queue that is spread over shards: what one sends the other receives, those who wait are
// woken, receipts from several shards are acked together, and what dies is moved to a queue without shards and back.
func TestShards(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 2)
	a, b := nodes[0], nodes[1]
	ctx := t.Context()
	grave := engine.Ref{Tenant: "t", Name: "grave"}
	config := withShards(8)
	config.DeadLetter.Queue = grave.Name
	for ref, c := range map[engine.Ref]engine.QueueConfig{grave: engine.DefaultConfig(), hot: config} {
		if _, _, err := a.PutQueue(ctx, ref, c, engine.Condition{}); err != nil {
			t.Fatal(err)
		}
	}

	waiters := make(chan int, 4)
	for range cap(waiters) {
		go func() {
			wait := 20 * time.Second
			got, err := b.Receive(ctx, hot, engine.ReceiveRequest{Max: 1, Wait: &wait})
			if err != nil {
				t.Errorf("Receive that waits: %v", err)
				waiters <- 0
				return
			}
			for _, m := range got.Messages {
				if _, err := b.Ack(ctx, hot, []string{m.Receipt}, ""); err != nil {
					t.Errorf("Ack: %v", err)
				}
			}
			waiters <- len(got.Messages)
		}()
	}
	sendHot(t, a, "w1", "w2", "w3", "w4")
	for range cap(waiters) {
		if n := <-waiters; n != 1 {
			t.Errorf("a receive that waited got %d messages, want 1", n)
		}
	}

	want := make(map[string]int)
	for i := range 40 {
		body := fmt.Sprint("m", i)
		want[body] = 1
		sendHot(t, nodes[i%2], body)
	}
	q, err := b.Queue(ctx, hot)
	if err != nil || q.Counts.Ready != 40 || !q.Counts.Approximate || q.Config.Shards != 8 {
		t.Errorf("Queue = %+v, %v, want 40 ready, approximately, in 8 shards", q, err)
	}
	got, receipts := make(map[string]int), []string(nil)
	for len(receipts) < 40 {
		r, err := b.Receive(ctx, hot, engine.ReceiveRequest{Max: 7})
		if err != nil || len(r.Messages) == 0 {
			t.Fatalf("Receive = %v, %v with %d received, want more", r, err, len(receipts))
		}
		for _, m := range r.Messages {
			got[string(m.Body)]++
			receipts = append(receipts, m.Receipt)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("received %v, want each once", got)
	}
	acked, err := a.Ack(ctx, hot, receipts[:20], "")
	for i, r := range acked {
		if r.Err != nil {
			t.Errorf("Ack of receipt %d: %v", i, r.Err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	nacks := make([]engine.NackItem, 20)
	for i := range nacks {
		nacks[i] = engine.NackItem{Receipt: receipts[20+i], Dead: true}
	}
	if _, err := a.Nack(ctx, hot, nacks, ""); err != nil {
		t.Fatal(err)
	}
	for q, err := a.Queue(ctx, grave); q.Counts.Ready < 20; q, err = a.Queue(ctx, grave) {
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond) // the janitor moves them
	}
}

// TestShardsAreRefused: by a store that cannot, and when a queue would become another one.
func TestShardsAreRefused(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{Now: time.Now})
	t.Cleanup(func() { _ = s.Close() })
	alone := startEngine(t, s, "")
	shared := startNodes(t, 1)[0]
	refused := func(what string, e *engine.Engine, c engine.QueueConfig, code engine.Code) {
		t.Helper()
		_, _, err := e.PutQueue(t.Context(), hot, c, engine.Condition{})
		if fault := engine.ErrorOf(err); err == nil || fault.Code != code || fault.Field != "shards" {
			t.Errorf("%s: got %v, want %s in shards", what, err, code)
		}
	}
	refused("shards in memory", alone, withShards(2), engine.CodeInvalidRequest)
	for _, n := range []uint32{1, 4} {
		if _, _, err := shared.PutQueue(t.Context(), hot, withShards(n), engine.Condition{}); err != nil {
			t.Fatal(err)
		}
		refused("another number of shards", shared, withShards(5-n), engine.CodeConflict)
		if err := shared.DeleteQueue(t.Context(), hot, engine.Condition{}, true); err != nil {
			t.Fatal(err)
		}
	}
}
