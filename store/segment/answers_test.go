package segment

import (
	"slices"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
)

// TestWhatAClaimWaitsFor compares the LSN that the answer of a claim waits for with that of its own record.
func TestWhatAClaimWaitsFor(t *testing.T) {
	claim := store.ClaimParams{Queue: 1, Max: 10, MaxBytes: 1 << 20, Visibility: time.Minute}
	attempt := claim
	attempt.Attempt, attempt.AttemptWindow = [16]byte{1}, time.Minute
	for _, c := range []struct {
		name     string
		settings store.Settings
		params   store.ClaimParams
		sends    int
		spent    bool // the first message has had its deliveries
		own      bool // it waits for its own record
	}{
		{"standard", store.Settings{}, claim, 2, false, false},
		{"standard, with an attempt", store.Settings{}, attempt, 2, false, true},
		{"standard, with a dead message", store.Settings{MaxReceives: 1, Lazy: true}, claim, 2, true, true},
		{"standard, only a dead message", store.Settings{MaxReceives: 1, Lazy: true}, claim, 1, true, true},
		{"FIFO", store.Settings{Mode: store.FIFO}, claim, 2, false, true},
		{"FIFO, nothing", store.Settings{Mode: store.FIFO}, claim, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := onSim(t, disk.NewSim(), Options{})
			defer mustClose(t, s)
			c.settings.Revision, c.params.Revision = 2, 2
			if err := s.Configure(t.Context(), 1, c.settings); err != nil {
				t.Fatal(err)
			}
			for i := range c.sends {
				if _, err := s.Send(t.Context(), store.SendParams{Queue: 1, Revision: 2, Entries: []store.Entry{{Size: 1}}}); err != nil {
					t.Fatal(err)
				}
				if i == 0 && c.spent {
					at := c.params
					at.Visibility = 0
					if _, err := s.Claim(t.Context(), at); err != nil {
						t.Fatal(err)
					}
				}
			}
			q, err := s.find(1)
			if err != nil {
				t.Fatal(err)
			}
			before := q.last
			got, lsn, err := s.claim(q, c.params)
			if err != nil {
				t.Fatal(err)
			}
			if c.sends > 0 && q.last == before {
				t.Fatalf("claim = %+v; want a record", got)
			}
			if (lsn == q.last) != c.own {
				t.Errorf("the answer waits for %d, the record is %d", lsn, q.last)
			}
		})
	}
}

// TestEvictionsSurviveARestart lets messages give way to later ones of the same send: replayed, the same are there, and as
// many bytes of each file count as needed.
func TestEvictionsSurviveARestart(t *testing.T) {
	sim := disk.NewSim()
	s := onSim(t, sim, Options{})
	settings := store.Settings{Revision: 2, MaxMessages: 3, Overflow: store.DropOldest}
	if err := s.Configure(t.Context(), 1, settings); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p := store.SendParams{Queue: 1, Revision: 2}
		for i := range 10 {
			p.Entries = append(p.Entries, store.Entry{Payload: []byte{byte(i)}, Size: uint32(1 + i)})
		}
		if res, err := s.Send(t.Context(), p); err != nil || res.Count != 10 {
			t.Fatalf("send = %+v, %v", res, err)
		}
	}
	used := make(map[uint32]int64)
	s.queues[1].where.usage(used)
	sim.Freeze() // no checkpoint on closing
	_ = s.Close()
	again := onSim(t, sim.Crash(disk.Mode{Data: disk.Lost, Entries: disk.Lost}, nil), Options{})
	defer mustClose(t, again)
	res, err := again.Scan(t.Context(), store.ScanParams{Queue: 1, Limit: 10, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var seqs []store.Seq
	for _, v := range res.Views {
		seqs = append(seqs, v.Seq)
	}
	if !slices.Equal(seqs, []store.Seq{28, 29, 30}) {
		t.Errorf("after a restart there are %v", seqs)
	}
	after := make(map[uint32]int64)
	again.queues[1].where.usage(after)
	if want := 3*int64(perMessage) + 8 + 9 + 10; sum(used) != want || sum(after) != want {
		t.Errorf("bytes in use %v, after a restart %v, want %d", used, after, want)
	}
}

func sum(m map[uint32]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// TestPlacesThatComeAfterAPurge tells the place of messages only after they were purged, some of them after they had left
// by themselves.
func TestPlacesThatComeAfterAPurge(t *testing.T) {
	var w where
	w.place(journal.Position{File: 1, Offset: 4160}, 1, 2, 2, 20)
	w.erased(4, 10)
	w.clear(5)
	extents, placed := w.freeze()
	if len(extents) != 0 || placed != 2 {
		t.Errorf("a checkpoint in between has places %+v up to %d, want none up to 2", extents, placed)
	}
	w.place(journal.Position{File: 1, Offset: 5000}, 3, 3, 3, 30)
	used := make(map[uint32]int64)
	if w.usage(used); len(used) != 0 {
		t.Errorf("purged messages need %v", used)
	}
	w.place(journal.Position{File: 1, Offset: 6000}, 6, 1, 1, 10)
	if w.usage(used); used[1] != 10+perMessage {
		t.Errorf("one message needs %v", used)
	}
	if from, _, ok := w.find(6); !ok || from.File != 1 {
		t.Errorf("message 6 is at %v, %v", from, ok)
	}
}

// TestAPurgeDuringAMerge purges a queue while one of its files is being copied: the copies count for nothing.
func TestAPurgeDuringAMerge(t *testing.T) {
	var w where
	w.place(journal.Position{File: 1, Offset: 4160}, 1, 2, 2, 20)
	w.place(journal.Position{File: 2, Offset: 4160}, 3, 1, 1, 10)
	m := merging{copies: make(map[*where][]*extent)}
	c := m.copying(&w, w.extents[0])
	c.to = &extent{file: 9, first: 1}
	c.to.add(4160, 1, 1)
	c.upTo, c.live, c.bytes = 1, 1, 10
	w.clear(3)
	w.place(journal.Position{File: 3, Offset: 4160}, 4, 1, 1, 10)
	if err := m.complete(); err != nil {
		t.Errorf("complete: %v", err)
	}
	m.swap()
	used := make(map[uint32]int64)
	if w.usage(used); len(used) != 1 || used[3] != 10+perMessage {
		t.Errorf("files in use %v, want the third by one message", used)
	}
	if _, _, ok := w.find(1); ok {
		t.Error("a purged message is still to be found")
	}
}
