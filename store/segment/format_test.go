package segment

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// TestFormat2 opens a folder that a server of the format before this one has written: a queue with a leased, a delayed, a
// scheduled and a lasting message, and a topic with two records. What the server took for the time is taken for elapsed time.
func TestFormat2(t *testing.T) {
	dir := unpack(t, "testdata/format-2.tar.gz")
	written := time.Date(2026, 12, 1, 1, 18, 54, 0, time.UTC)
	for _, off := range []time.Duration{30 * time.Minute, -365 * 24 * time.Hour} {
		var gaps []store.Gap
		now := func() time.Time { return written.Add(off) }
		s, err := Open(t.Context(), Options{
			Dir: dir, Now: now, FileSize: 1 << 20, Events: Events{Gap: func(g store.Gap) { gaps = append(gaps, g) }},
		})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := s.Queues(t.Context(), 0, 10)
		if err != nil || len(ids) != 1 {
			t.Fatalf("queues: %v, %v", ids, err)
		}
		got, err := s.Stats(t.Context(), ids[0])
		if err != nil || got.Ready != 2 || got.Leased != 0 || got.Delayed != 2 { // the lease of 30 s has ended
			t.Errorf("%v later: got %+v, %v", off, got, err)
		}
		logs, err := s.Logs(t.Context(), 0, 10)
		if err != nil || len(logs) != 1 {
			t.Fatalf("logs: %v, %v", logs, err)
		}
		if at, err := s.Seek(t.Context(), logs[0], 1, now()); err != nil || at != 2 {
			t.Errorf("seek beyond all records: got %d, %v, want 2", at, err)
		}
		if sent := s.Clock().Wall; sent.Sub(now()).Abs() > time.Second {
			t.Errorf("the store's wall clock shows %v, want %v", sent, now())
		}
		if implausible := off < 0; implausible != (len(gaps) > 0) {
			t.Errorf("%v later: reported gaps %+v", off, gaps)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// unpack makes a folder of an archive.
func unpack(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "data")
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, h.Name)
		if h.FileInfo().IsDir() {
			if err := os.MkdirAll(to, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
