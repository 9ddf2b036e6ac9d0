package journal

import (
	"fmt"
	"sync"
	"testing"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

func sealed(payload []byte) []byte {
	b := make([]byte, record.HeaderSize+len(payload))
	copy(b[record.HeaderSize:], payload)
	record.Seal(b, 1, 1, 7)
	return b
}

// TestReopen appends from several goroutines on a real disk, over several files, and finds everything again.
func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	places := map[LSN]Position{}
	o := Options{FS: disk.OS{}, Dir: dir, FileSize: 64 << 10, Placed: func(lsn LSN, pos Position, _ uint32, _ record.Record) {
		mu.Lock()
		defer mu.Unlock()
		places[lsn] = pos
	}}
	j, err := Open(o, Start{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	start := j.Mark()
	want := map[LSN]string{}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				payload := fmt.Sprintf("%d/%d/%0*d", g, i, i*17, i)
				if err := j.Room(t.Context(), record.HeaderSize+len(payload), false); err != nil {
					t.Error(err)
					return
				}
				lsn, err := j.Append(sealed([]byte(payload)), true)
				if err != nil {
					t.Error(err)
					return
				}
				if err := j.Wait(lsn); err != nil {
					t.Error(err)
				}
				mu.Lock()
				want[lsn] = payload
				pos := places[lsn]
				mu.Unlock()
				r, err := j.Read(pos, nil)
				if err != nil || string(r.Payload) != payload || r.LSN != lsn || r.Object != 7 {
					t.Errorf("Read(%v) = %v, %v, want %q", pos, r, err, payload)
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[LSN]string{}
	j, err = Open(o, start, func(lsn LSN, pos Position, r record.Record) error {
		if pos != places[lsn] {
			t.Errorf("LSN %d replayed from %v, was placed at %v", lsn, pos, places[lsn])
		}
		got[lsn] = string(r.Payload)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("replayed %d records, want %d", len(got), len(want))
	}
	for lsn, payload := range want {
		if got[lsn] != payload {
			t.Errorf("LSN %d replayed as %q, want %q", lsn, got[lsn], payload)
		}
	}
	t.Logf("files: %d", len(j.Files()))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
