package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// failovers gathers what a store reports.
type failovers struct {
	changes chan Failover
	losses  chan Loss
}

func newFailovers() *failovers {
	return &failovers{make(chan Failover, 100), make(chan Loss, 100)}
}

func (f *failovers) options(o Options) Options {
	o.Failover = func(c Failover) { f.changes <- c }
	o.Lost = func(l Loss) { f.losses <- l }
	return o
}

// await returns the first change that was reported, and the sum of the losses until one more call of each is done.
func (f *failovers) await(t *testing.T) (Failover, Loss) {
	t.Helper()
	var c Failover
	select {
	case c = <-f.changes:
	case <-time.After(20 * time.Second):
		t.Fatal("no failover was reported")
	}
	select {
	case l := <-f.losses:
		return c, l
	case <-time.After(20 * time.Second):
		t.Fatal("no losses were counted")
	}
	return c, Loss{}
}

// sendUntil sends one message again and again until that succeeds.
func sendUntil(t *testing.T, s *Store, q store.QueueID, body string) store.Seq {
	t.Helper()
	begun := time.Now()
	for {
		r, err := s.Send(t.Context(), store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte(body), Size: 1}}})
		if err == nil {
			t.Logf("a send succeeded after %v", time.Since(begun).Round(time.Millisecond))
			return r.First
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("no send succeeds for 30 s: %v", err)
		}
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("Send during a failover = %v, want that the store is unavailable or the outcome unknown", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartSentinel(t)
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: fleet.URL, Silence: time.Second}))
	ctx, q := t.Context(), store.QueueID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	h := listenTo(s)
	first := sendUntil(t, s, q, "a")
	want(t, h.queues, q, "a send")
	_, err := s.Send(ctx, store.SendParams{
		Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte("b"), Size: 1}}, Acks: store.Acks{All: true, Min: 3},
	})
	if err != nil {
		t.Fatalf("Send that waits for two replicas = %v, want nil", err)
	}
	fleet.Master(t).Kill()
	next := sendUntil(t, s, q, "c")
	if next <= first+1 {
		t.Errorf("after a failover a message has sequence %d, want it above all that were given out before (%d)", next, first)
	}
	change, lost := seen.await(t)
	t.Logf("reported %+v, lost %+v", change, lost)
	if change.Tags != allTags {
		t.Errorf("the failover concerns %d tags, want all %d", change.Tags, allTags)
	}
	want(t, h.queues, q, "a send after a failover")
	stats, err := s.Stats(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if have := int(stats.Ready) + lost.Sends; have < 3 {
		t.Errorf("of 3 messages that were acknowledged %d are there and %d reported lost", stats.Ready, lost.Sends)
	}
}

func TestClusterFailover(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 3)
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: fleet.URL, Silence: time.Second}))
	ctx := t.Context()
	h := listenTo(s)
	const queues = 24 // with tags on all servers
	for q := range store.QueueID(queues) {
		if err := s.Configure(ctx, q+1, store.Settings{Revision: 1}); err != nil {
			t.Fatal(err)
		}
		sendUntil(t, s, q+1, "a")
		want(t, h.queues, q+1, "a send")
	}
	victim := fleet.MasterOf(t, s.keys('q', 1, "c")[0])
	victim.Kill()
	for q := range store.QueueID(queues) {
		sendUntil(t, s, q+1, "b")
	}
	change, lost := seen.await(t)
	t.Logf("reported %+v, lost %+v", change, lost)
	if change.Tags == 0 || change.Tags == allTags {
		t.Errorf("the failover concerns %d tags, want some of the %d", change.Tags, allTags)
	}
	have := lost.Sends
	for q := range store.QueueID(queues) {
		stats, err := s.Stats(ctx, q+1)
		if err != nil {
			t.Fatal(err)
		}
		have += int(stats.Ready)
	}
	if have < 2*queues {
		t.Errorf("of %d messages that were acknowledged %d are there or reported lost", 2*queues, have)
	}
	got, err := s.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: 10, MaxBytes: 1 << 20, Visibility: time.Minute})
	if err != nil || len(got.Messages) == 0 {
		t.Fatalf("Claim after a failover = %d messages, %v", len(got.Messages), err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Errorf("Ping after a failover = %v, want nil", err)
	}
}

func TestRestartIsAFailover(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, "--appendfsync", "always")
	seen := newFailovers()
	s := open(t, seen.options(Options{URL: own.URL, Silence: time.Second}))
	ctx, q := t.Context(), store.QueueID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	sendUntil(t, s, q, "a")
	own.Kill()
	own.Restart(t)
	sendUntil(t, s, q, "b")
	change, lost := seen.await(t)
	if change.Tags != allTags || lost != (Loss{Server: change.Server}) {
		t.Errorf("after a restart %+v and %+v were reported, want all tags and no loss", change, lost)
	}
	select {
	case again := <-seen.changes:
		t.Errorf("%+v was reported, too", again)
	default:
	}
}

// A call that waits for copies is not answered as done when there are too few.
func TestTooFewCopies(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	s := open(t, Options{URL: own.URL})
	ctx, q := t.Context(), store.QueueID(7)
	if err := s.Configure(ctx, q, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	p := store.SendParams{Queue: q, Revision: 1, Entries: []store.Entry{{Payload: []byte("a"), Size: 1}}, Acks: store.Acks{All: true, Min: 2}}
	if _, err := s.Send(ctx, p); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Send that wants two copies of a server alone = %v, want %v", err, store.ErrUnknown)
	}
	p.Acks.Min = 1
	if _, err := s.Send(ctx, p); err != nil {
		t.Errorf("Send that wants all copies of a server alone = %v, want nil", err)
	}
}
