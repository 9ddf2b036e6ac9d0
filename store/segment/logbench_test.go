package segment

import (
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// onDisk opens a store on a real disk with a log of four partitions.
func onDisk(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Options{Dir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := s.ConfigureLog(b.Context(), 1, store.LogSettings{Revision: 1, Partitions: 4}); err != nil {
		b.Fatal(err)
	}
	return s
}

func oneKiB(n int) []store.LogRecord {
	list := make([]store.LogRecord, n)
	for i := range list {
		list[i] = store.LogRecord{Payload: make([]byte, 1024), Size: 1024}
	}
	return list
}

// BenchmarkAppend appends one record of 1 KiB a call, 64 callers at a time for each processor.
func BenchmarkAppend(b *testing.B) {
	s := onDisk(b)
	records := oneKiB(1)
	b.SetParallelism(64)
	b.SetBytes(1024)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p := store.AppendParams{Log: 1, Revision: 1, Parts: []store.AppendPart{{Records: records}}}
			if _, err := s.Append(b.Context(), p); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkFetch reads 500 records of 1 KiB a call that lie among those of three other partitions.
func BenchmarkFetch(b *testing.B) {
	s := onDisk(b)
	for range 200 {
		var p store.AppendParams
		for partition := range uint32(4) {
			p.Parts = append(p.Parts, store.AppendPart{Partition: partition, Records: oneKiB(100)})
		}
		p.Log, p.Revision = 1, 1
		if _, err := s.Append(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(500 * 1024)
	at := store.Offset(0)
	for b.Loop() {
		r, err := s.Fetch(b.Context(), store.FetchParams{Log: 1, Partition: 2, Offset: at % 19_500, Max: 500, MaxBytes: 1 << 30})
		if err != nil || len(r.Records) != 500 {
			b.Fatalf("Fetch = %d records, %v; want 500", len(r.Records), err)
		}
		at += 500
	}
}
