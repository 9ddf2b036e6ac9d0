package segment

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

// filled makes a data folder with rolled, merged and recycled files, and returns it with the number of messages left.
func filled(t *testing.T) (dir string, left int64) {
	t.Helper()
	dir = t.TempDir()
	var merges int
	s, err := Open(t.Context(), Options{Dir: dir, Now: time.Now, FileSize: 128 << 10, Events: Events{
		Merged: func(int, int64) { merges++ },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Configure(t.Context(), 1, store.Settings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		fillAndDrain(t, s)
	}
	s.maintain()
	if merges == 0 {
		t.Fatal("no files were merged: the folder does not show what it should")
	}
	stats, err := s.Stats(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, stats.Leased
}

// fillAndDrain sends 50 messages and acknowledges all but one of them.
func fillAndDrain(t *testing.T, s *Store) {
	t.Helper()
	entries := make([]store.Entry, 50)
	for i := range entries {
		entries[i] = store.Entry{Payload: bytes.Repeat([]byte{byte(i)}, 1000), Size: 1000}
	}
	if _, err := s.Send(t.Context(), store.SendParams{Queue: 1, Revision: 1, Entries: entries}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(t.Context(), store.ClaimParams{Queue: 1, Revision: 1, Max: 50, MaxBytes: 1 << 20, Visibility: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p := store.SettleParams{Queue: 1, Revision: 1}
	for _, m := range got.Messages[1:] {
		p.Items = append(p.Items, store.SettleItem{Seq: m.Seq, Token: got.Token, Target: store.Done})
	}
	if _, err := s.Settle(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func TestCheckOfASoundFolder(t *testing.T) {
	dir, left := filled(t)
	records := 0
	r, err := Check(CheckOptions{Dir: dir, Record: func(RecordInfo) { records++ }})
	if err != nil {
		t.Fatal(err)
	}
	var live int64
	for _, f := range r.Files {
		live += f.Live
	}
	if len(r.Problems) > 0 || live != left || len(r.Queues) != 1 || r.Queues[0].ID != 1 || records == 0 {
		t.Errorf("Check: %d records, %+v; want %d live messages of one queue and no problem", records, r, left)
	}
}

// TestCheckOfLogsThatWereMerged merges data files that each hold few records of a log: a partition then has several
// extents in one file, and a queue, too.
func TestCheckOfLogsThatWereMerged(t *testing.T) {
	t.Parallel()
	sim := disk.NewSim()
	merged := 0
	s := onSim(t, sim, Options{Events: Events{Merged: func(files int, _ int64) { merged = max(merged, files) }}})
	s.upkeep.stop()
	if err := s.ConfigureLog(t.Context(), 3, store.LogSettings{Revision: 1, Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		for partition := range uint32(2) {
			records := make([]store.LogRecord, 5)
			for i := range records {
				records[i] = store.LogRecord{Payload: make([]byte, 100), Size: 100}
			}
			part := store.AppendPart{Partition: partition, Records: records}
			if _, err := s.Append(t.Context(), store.AppendParams{Log: 3, Revision: 1, Parts: []store.AppendPart{part}}); err != nil {
				t.Fatal(err)
			}
		}
		fillAndDrain(t, s)
	}
	for range 3 {
		s.maintain()
	}
	if merged < 2 {
		t.Fatalf("%d files were merged at once, want several: the folder does not show what it should", merged)
	}
	mustClose(t, s)
	r, err := Check(CheckOptions{Dir: "data", fs: sim})
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("Check of a sound folder with a log: %v, problems %q, want none", err, r.Problems)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	dir, _ := filled(t)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		base := filepath.Base(name)
		if base == lockName || base == ballastName || strings.HasSuffix(base, ".free") {
			continue // nothing of worth in it
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		flipped := bytes.Clone(b)
		flipped[20] ^= 1 // in the header, or in what CURRENT and the checkpoint say
		if err := os.WriteFile(name, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Check(CheckOptions{Dir: dir}); err != nil || len(r.Problems) == 0 {
			t.Errorf("Check with a bit of %s flipped: %v, problems %q, want some", base, err, r.Problems)
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckFindsAMissingFile(t *testing.T) {
	dir, _ := filled(t)
	r, err := Check(CheckOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Files {
		if f.Live == 0 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, fmt.Sprintf("%08d.journal", f.File))); err != nil {
			t.Fatal(err)
		}
		break
	}
	if r, err := Check(CheckOptions{Dir: dir}); err != nil || len(r.Problems) == 0 {
		t.Errorf("Check without a file that holds messages: %v, problems %q, want some", err, r.Problems)
	}
}

func TestCheckRefusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was written
	if _, err := Check(CheckOptions{Dir: dir}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("Check of a folder in use: got %v, want %v", err, store.ErrLocked)
	}
}
