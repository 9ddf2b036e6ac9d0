package redis

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Without a clock of its own a store goes by that of the server.
func TestServerTime(t *testing.T) {
	t.Parallel()
	url := serverURL(t)
	s := open(t, Options{URL: url, Prefix: freshPrefix(t, url)})
	ctx := t.Context()
	if err := s.Configure(ctx, 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	before, err := s.client.Time(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	sent, err := s.Send(ctx, store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{
		{Payload: []byte("now")}, {Payload: []byte("later"), Delay: 50 * time.Millisecond},
	}})
	if err != nil || sent.SentAt.Before(before.Truncate(time.Millisecond)) || sent.SentAt.After(before.Add(time.Minute)) {
		t.Fatalf("Send at %v by the server's clock = %+v, %v", before, sent, err)
	}
	if sent.NextDue <= 0 || sent.NextDue > 50*time.Millisecond {
		t.Errorf("Send with a delay of 50 ms: NextDue %v", sent.NextDue)
	}
	for given := 0; given < 2; { // time goes on by itself
		r, err := s.Claim(ctx, store.ClaimParams{Queue: 1, Revision: 1, Max: 1, MaxBytes: 100, Visibility: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		given += len(r.Messages)
		if after, err := s.client.Time(ctx).Result(); err != nil || after.After(before.Add(20*time.Second)) {
			t.Fatalf("%d of 2 messages were given by %v, %v, which is long after %v", given, after, err, before)
		}
	}
}

// What one process has seen of time all of its queues know, so that reading needs no writing.
func TestTimeOfReads(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	m.clock.Advance(time.Minute)
	if _, err := m.next.Stats(t.Context(), moveTarget); err != nil {
		t.Fatal(err)
	}
	m.clock.Jump(-time.Hour)
	r, err := m.next.Send(t.Context(), store.SendParams{Queue: moveSource, Revision: 1, Entries: []store.Entry{{}}})
	if want := m.clock.Now().Add(time.Hour); err != nil || r.SentAt.Before(want) {
		t.Errorf("Send after the clock was set back = %v, %v; want it sent no sooner than %v", r.SentAt, err, want)
	}
}
