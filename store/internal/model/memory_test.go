package model

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// shape is a kind of backlog and what a message in it may take on the heap.
type shape struct {
	name     string
	settings store.Settings
	groups   int
	change   func(i int, m *Meta)
	touch    bool // lease all of it
	limit    float64
}

var shapes = []shape{
	{name: "standard", limit: 2},
	{name: "FIFO in one group", settings: store.Settings{Mode: store.FIFO}, groups: 1, limit: 8},
	{name: "FIFO in 1,000 groups", settings: store.Settings{Mode: store.FIFO}, groups: 1000, limit: 8},
	{name: "fair in 1,000 groups", settings: store.Settings{Mode: store.Fair}, groups: 1000, limit: 8},
	{
		name: "prioritized", settings: store.Settings{Levels: 10}, limit: 8,
		change: func(i int, m *Meta) { m.Priority = uint8(i * 7 % 10) },
	},
	{name: "scheduled", limit: 32, change: func(i int, m *Meta) { m.Delay = Millis(1 + i*7919%100_000_000) }},
	{
		name: "with dedup keys", settings: store.Settings{DedupWindow: time.Hour}, limit: 2 + 48,
		change: func(i int, m *Meta) {
			binary.BigEndian.PutUint64(m.Dedup[:], uint64(i)*0x9E3779B97F4A7C15)
			m.Dedup[15] = 1
		},
	},
	{name: "leased", touch: true, limit: 112},
}

// heapOf sends n messages, one a call, and returns what each added to the heap, in bytes.
func (s *shape) heapOf(n int) float64 {
	q := NewQueue(7)
	s.settings.Revision = 1
	now := Millis(1_700_000_000_000)
	q.Configure(now, s.settings)
	names := make([]string, max(s.groups, 1))
	for i := range names {
		if s.groups > 0 {
			names[i] = fmt.Sprintf("customer-%06d", i)
		}
	}
	send := func(from, to int) {
		for i := from; i < to; i++ {
			m := Meta{Size: 1000, Group: names[i%len(names)]}
			if s.change != nil {
				s.change(i, &m)
			}
			now += Millis(i % 2)
			_, _, _, _ = q.Send(now, Sending{Entries: []Meta{m}})
		}
		for s.touch && q.Claimable() {
			q.Claim(now, store.ClaimParams{Max: 1000, MaxBytes: 1 << 40, Visibility: time.Hour})
		}
	}
	send(0, n/10)
	before := liveHeap()
	send(n/10, n)
	after := liveHeap()
	runtime.KeepAlive(q)
	return float64(after-before) / float64(n-n/10)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestBacklogsTakeLittleMemory(t *testing.T) {
	for _, s := range shapes {
		got := s.heapOf(100_000)
		t.Logf("%s: %.1f bytes a message", s.name, got)
		if got > s.limit {
			t.Errorf("%s: a message takes %.1f bytes of heap, want at most %.0f", s.name, got, s.limit)
		}
	}
}

// BenchmarkHeap reports what a message takes on the heap in a backlog of 1,000,000, and a group in 100,000 groups with
// one message each.
func BenchmarkHeap(b *testing.B) {
	for _, s := range append(shapes, shape{name: "FIFO in groups of one", settings: store.Settings{Mode: store.FIFO}, groups: 1_000_000}) {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(s.heapOf(1_000_000), "B/message")
			}
		})
	}
}
