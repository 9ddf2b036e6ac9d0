package redis

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// heard are the announcements that a store passed on.
type heard struct {
	queues chan store.QueueID
	logs   chan store.LogID
}

func listenTo(s *Store) heard {
	h := heard{make(chan store.QueueID, 1000), make(chan store.LogID, 1000)}
	s.Watch(func(q store.QueueID) { h.queues <- q })
	s.WatchLogs(func(l store.LogID, partition uint32) { h.logs <- l*10 + store.LogID(partition) })
	return h
}

// want waits for an announcement, whatever else comes before it.
func want[T comparable](t *testing.T, from <-chan T, this T, after string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		select {
		case got := <-from:
			if got == this {
				return
			}
		case <-limit:
			t.Fatalf("was not told of %v within 10 s after %s", this, after)
		}
	}
}

// Any process that serves the same keys hears of what another one does.
func TestWatchOtherProcess(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	o := Options{URL: url, Prefix: freshPrefix(t, url)}
	s, other := open(t, o), open(t, o)
	h := listenTo(other)
	ctx := t.Context()
	q, l := store.QueueID(1<<63+5), store.LogID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(ctx, store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{}}}); err != nil {
		t.Fatal(err)
	}
	want(t, h.queues, q, "a send")
	if err := s.Configure(ctx, q, store.Settings{Revision: 2}); err != nil {
		t.Fatal(err)
	}
	want(t, h.queues, q, "a change of its settings")
	if err := s.ConfigureLog(ctx, l, store.LogSettings{Revision: 1, Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, store.AppendParams{Log: l, Revision: 1, Parts: []store.AppendPart{{Partition: 2, Records: []store.LogRecord{{}}}}}); err != nil {
		t.Fatal(err)
	}
	want(t, h.logs, 72, "an append")
}

// What is announced while the subscription is broken nobody hears, so afterwards everything is announced.
func TestWatchAfterLostConnection(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	s := open(t, Options{URL: own.url})
	ctx := t.Context()
	h := listenTo(s)
	for q := range store.QueueID(3) {
		if err := s.Configure(ctx, q+1, store.Settings{Revision: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ConfigureLog(ctx, 7, store.LogSettings{Revision: 1, Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	if n, err := own.client.ClientKillByFilter(ctx, "TYPE", "pubsub").Result(); err != nil || n != 1 {
		t.Fatalf("killed %d subscriptions, %v; want 1", n, err)
	}
	for q := range store.QueueID(3) {
		want(t, h.queues, q+1, "the subscription came back")
	}
	for p := range store.LogID(2) {
		want(t, h.logs, 70+p, "the subscription came back")
	}
	if _, err := s.Send(ctx, store.SendParams{Queue: 2, Revision: 1, Entries: []store.Entry{{}}}); err != nil {
		t.Fatal(err)
	}
	want(t, h.queues, 2, "a send over a new connection")
}

// A server that is away when a process begins to listen does not stop it.
func TestWatchBeforeTheServerIsBack(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	p := newProxy(t, own.url)
	s := open(t, Options{URL: p.url()})
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.refuse = true })
	p.cut()
	h := listenTo(s)
	p.set(func() { p.refuse = false })
	want(t, h.queues, 1, "the server came back")
}

// Close ends the subscription, and waits for what it tells.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	s := open(t, Options{URL: own.url})
	listenTo(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := own.client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n != 0 {
		t.Errorf("%d subscriptions, %v, are left after Close; want none", n, err)
	}
}
