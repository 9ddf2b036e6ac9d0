package redis

import (
	"bytes"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// benchStore is a store on a server of its own.
func benchStore(b *testing.B, options ...string) *Store {
	b.Helper()
	url := redistest.Start(b, options...).URL
	s, err := Open(b.Context(), Options{URL: url + "?pool_size=64"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close() = %v, want nil", err)
		}
	})
	return s
}

// body is of the size of an ordinary message.
var body = bytes.Repeat([]byte("x"), 256)

// parallel runs calls of 32 callers at once and reports how many items a second they handle, n with each call.
func parallel(b *testing.B, n int, call func() error) {
	b.Helper()
	b.SetParallelism(16)
	b.ResetTimer()
	began := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N*n)/time.Since(began).Seconds(), "items/s")
}

func BenchmarkPut(b *testing.B) {
	s := benchStore(b)
	parallel(b, 1, func() error {
		_, err := s.Put(b.Context(), "k", body, store.AnyRevision)
		return err
	})
}

func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	if _, err := s.Put(b.Context(), "k", body, store.AnyRevision); err != nil {
		b.Fatal(err)
	}
	parallel(b, 1, func() error {
		_, err := s.Get(b.Context(), "k")
		return err
	})
}

func benchLog(b *testing.B, records int) (*Store, store.AppendParams) {
	b.Helper()
	s := benchStore(b)
	if err := s.ConfigureLog(b.Context(), 1, store.LogSettings{Revision: 1, Partitions: 1}); err != nil {
		b.Fatal(err)
	}
	p := store.AppendParams{Log: 1, Revision: 1, Parts: []store.AppendPart{{Records: make([]store.LogRecord, records)}}}
	for i := range p.Parts[0].Records {
		p.Parts[0].Records[i] = store.LogRecord{Payload: body, Size: uint32(len(body))}
	}
	return s, p
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(map[int]string{1: "one", 100: "hundred"}[n], func(b *testing.B) {
			s, p := benchLog(b, n)
			parallel(b, n, func() error {
				_, err := s.Append(b.Context(), p)
				return err
			})
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	s, p := benchLog(b, 1000)
	for range 100 {
		if _, err := s.Append(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
	const n = 100
	parallel(b, n, func() error {
		_, err := s.Fetch(b.Context(), store.FetchParams{Log: 1, Offset: 54_321, Max: n, MaxBytes: 1 << 20})
		return err
	})
}

// BenchmarkPing is as quick as any call can be.
func BenchmarkPing(b *testing.B) {
	s := benchStore(b)
	parallel(b, 1, func() error { return s.Ping(b.Context()) })
}
