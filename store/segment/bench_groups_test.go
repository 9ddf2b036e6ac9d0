package segment

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// BenchmarkReceiveBesideALockedGroup measures receives from one group of a FIFO queue while another is locked, with few
// messages and with many behind its head. It reports how much the many cost: 1 is nothing. Nothing is synced, since that
// would cost more than everything else.
func BenchmarkReceiveBesideALockedGroup(b *testing.B) {
	few, many := newLocked(b, 1_000), newLocked(b, 1_000_000)
	var beside [2]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		// In turns, so that what else the machine does meets both.
		beside[0] += receiveOther(b, few)
		beside[1] += receiveOther(b, many)
	}
	b.ReportMetric(float64(beside[0].Nanoseconds())/float64(b.N), "ns/few")
	b.ReportMetric(float64(beside[1].Nanoseconds())/float64(b.N), "ns/many")
	b.ReportMetric(float64(beside[1])/float64(beside[0]), "many/few")
}

// newLocked returns a store whose FIFO queue has a group of n messages, the first of them leased.
func newLocked(b *testing.B, n int) *Store {
	b.Helper()
	s := newStore(b, Options{Sync: SyncNone})
	if err := s.Configure(b.Context(), 2, store.Settings{Revision: 1, Mode: store.FIFO}); err != nil {
		b.Fatal(err)
	}
	entries := make([]store.Entry, 1000)
	for i := range entries {
		entries[i] = store.Entry{Payload: []byte("x"), Size: 1, Group: "locked"}
	}
	for range n / len(entries) {
		if _, err := s.Send(b.Context(), store.SendParams{Queue: 2, Revision: 1, Entries: entries}); err != nil {
			b.Fatal(err)
		}
	}
	if got := claimOne(b, s); got.Seq != 1 {
		b.Fatalf("the first claim got message %d, want 1", got.Seq)
	}
	return s
}

// receiveOther sends to another group, and receives and acks that. It returns how long the receive took.
func receiveOther(b *testing.B, s *Store) time.Duration {
	sent, err := s.Send(b.Context(), store.SendParams{Queue: 2, Revision: 1, Entries: []store.Entry{{Payload: []byte("x"), Size: 1, Group: "other"}}})
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	got := claimOne(b, s)
	took := time.Since(begun)
	if got.Seq != sent.First {
		b.Fatalf("a claim got message %d, want that of the other group, %d", got.Seq, sent.First)
	}
	if _, err := s.Settle(b.Context(), store.SettleParams{Queue: 2, Revision: 1, Items: []store.SettleItem{got}}); err != nil {
		b.Fatal(err)
	}
	return took
}

// claimOne claims a message and returns what acks it.
func claimOne(b *testing.B, s *Store) store.SettleItem {
	got, err := s.Claim(b.Context(), store.ClaimParams{Queue: 2, Revision: 1, Max: 1, MaxBytes: 1 << 20, Visibility: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	if len(got.Messages) != 1 {
		b.Fatalf("a claim got %d messages, want 1", len(got.Messages))
	}
	return store.SettleItem{Seq: got.Messages[0].Seq, Token: got.Token, Target: store.Done}
}
