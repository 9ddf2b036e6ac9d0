package segment

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// heap is what lives on the heap after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// perMessageHeap sends messages of 1 KiB up to a depth, first to a tenth of it, and returns what each of those after
// that added to the heap, in bytes.
func perMessageHeap(tb testing.TB, s *Store, depth int) float64 {
	tb.Helper()
	fill(tb, s, depth/10)
	before := heap()
	fill(tb, s, depth-depth/10)
	after := heap()
	tb.Logf("heap after GC: %d bytes with %d messages, %d with %d", before, depth/10, after, depth)
	return float64(after-before) / float64(depth-depth/10)
}

func TestBacklogTakesLittleMemory(t *testing.T) {
	s := newStore(t, Options{FileSize: 8 << 20})
	if got := perMessageHeap(t, s, 100_000); got > 8 {
		t.Errorf("a message in the backlog takes %.1f bytes of heap, want at most 8", got)
	}
}

// BenchmarkHeap reports what a message of 1 KiB in a backlog of 1,000,000 takes on the heap, and how long a start with
// it takes.
func BenchmarkHeap(b *testing.B) {
	for b.Loop() {
		s := newStore(b, Options{})
		b.ReportMetric(perMessageHeap(b, s, 1_000_000), "B/message")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		again, err := Open(b.Context(), Options{Dir: s.o.Dir, Now: time.Now})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/start")
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAMessageLargerThanAFile(t *testing.T) {
	s := newStore(t, Options{FileSize: 64 << 10})
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	if _, err := s.Send(t.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: []store.Entry{
		{Payload: []byte("before"), Size: 6}, {Payload: want, Size: uint32(len(want))}, {Payload: []byte("after"), Size: 5},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Dir: s.o.Dir, Now: time.Now, FileSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // read only
	got, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 3, MaxBytes: 2 << 20, Visibility: time.Minute})
	if err != nil || len(got.Messages) != 3 || !bytes.Equal(got.Messages[1].Payload, want) {
		t.Errorf("Claim: %d messages, %v; want 3, the second of 1 MiB as it was sent", len(got.Messages), err)
	}
}
