package journal

import (
	"fmt"
	"path"
	"sync"
	"testing"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// BenchmarkAppend measures durable appends of 1 KiB, from so many goroutines that each wait for their record.
func BenchmarkAppend(b *testing.B) {
	for _, waiters := range []int{1, 32, 64, 100} {
		b.Run(fmt.Sprintf("waiters%d", waiters), func(b *testing.B) {
			var batches, syncNanos int64
			j, err := Open(Options{FS: disk.OS{}, Dir: b.TempDir(), Events: Events{Wrote: func(w Wrote) {
				batches++
				syncNanos += w.Sync.Nanoseconds()
			}}}, Start{}, nil)
			if err != nil {
				b.Fatal(err)
			}
			payload := make([]byte, 1024)
			b.SetBytes(1024)
			b.ResetTimer()
			var wg sync.WaitGroup
			for w := range waiters {
				wg.Go(func() {
					for range (b.N + waiters - 1 - w) / waiters {
						rec := sealed(payload)
						if err := j.Room(b.Context(), len(rec), false); err != nil {
							b.Error(err)
							return
						}
						lsn, err := j.Append(rec, true)
						if err == nil {
							err = j.Wait(lsn)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(b.N)/float64(batches), "records/sync")
			b.ReportMetric(float64(syncNanos)/float64(batches)/1e3, "µs/sync")
		})
	}
}

// BenchmarkBare writes and syncs the same bytes without a journal: what the disk gives.
func BenchmarkBare(b *testing.B) {
	for _, records := range []int{1, 16, 32, 64} {
		b.Run(fmt.Sprintf("batch%d", records), func(b *testing.B) {
			f, err := disk.OS{}.Create(path.Join(b.TempDir(), "f"))
			if err != nil {
				b.Fatal(err)
			}
			const size = 128 << 20
			if err := zeroFill(f, 0, size); err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, record.Blocks(int64(record.BatchHeaderSize+records*(record.HeaderSize+1024))))
			b.SetBytes(int64(records) * 1024)
			b.ResetTimer()
			at := int64(0)
			for range b.N {
				if at+int64(len(buf)) > size {
					at = 0
				}
				if _, err := f.WriteAt(buf, at); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
				at += int64(len(buf))
			}
			b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "records/s")
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
