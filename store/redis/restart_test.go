package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// TestClusterRestart starts the master of a queue again, which takes no calls at first since it does not know the cluster yet.
func TestClusterRestart(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 0)
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: fleet.URL, Silence: time.Second}))
	q := store.QueueID(7)
	if err := s.Configure(t.Context(), q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	first := sendUntil(t, s, q, "a")
	master := fleet.MasterOf(t, s.fenceKey(int(q)))
	master.Kill()
	master.Restart(t)
	if next := sendUntil(t, s, q, "b"); next <= first+1 {
		t.Errorf("after a restart a message has sequence %d, want it above all that may have been given out (%d)", next, first)
	}
	change, lost := seen.await(t)
	t.Logf("reported %+v, lost %+v", change, lost)
}

// A server that takes no changes can be looked at, and what it lost before is fenced off when it takes them again.
func TestRestartWithoutReplicas(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, "--appendfsync", "always", "--min-replicas-to-write", "1")
	at := running{own.URL, redistest.Client(t, own.URL)}
	at.set(t, "min-replicas-to-write", "0")
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: own.URL, Silence: time.Second}))
	ctx, q := t.Context(), store.QueueID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, "k", []byte("v"), 0); err != nil {
		t.Fatal(err)
	}
	first := sendUntil(t, s, q, "a")
	own.Kill()
	own.Restart(t) // which asks for a replica again
	for begun := time.Now(); ; <-time.After(10 * time.Millisecond) {
		pair, err := s.Get(ctx, "k")
		if err == nil && string(pair.Value) == "v" {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("Get from a server that wants a replica = %+v, %v, want what is there", pair, err)
		}
	}
	_, err := s.Send(ctx, store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte("b"), Size: 1}}})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "min-replicas-to-write") {
		t.Errorf("Send to a server that wants a replica = %v, want %v and what to do", err, store.ErrUnavailable)
	}
	at.set(t, "min-replicas-to-write", "0")
	if next := sendUntil(t, s, q, "c"); next <= first+1 {
		t.Errorf("after a restart a message has sequence %d, want it above all that may have been given out (%d)", next, first)
	}
	if change, _ := seen.await(t); change.Tags != allTags {
		t.Errorf("reported %+v, want all tags", change)
	}
}
