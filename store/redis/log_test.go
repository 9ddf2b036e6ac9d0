package redis

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// bigLog is a log of one partition with many records, of which the times go up and down.
type bigLog struct {
	*Store
	id    store.LogID
	times []time.Time
}

func newBigLog(t *testing.T, records int) *bigLog {
	t.Helper()
	url := serverURL(t)
	l := &bigLog{Store: open(t, Options{URL: url, Prefix: freshPrefix(t, url)}), id: 77}
	if err := l.ConfigureLog(t.Context(), l.id, store.LogSettings{Revision: 1, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for len(l.times) < records {
		part := store.AppendPart{Records: make([]store.LogRecord, min(records-len(l.times), 1+rng.IntN(5000)))}
		for i := range part.Records {
			at := time.UnixMilli(int64(1_700_000_000_000 + len(l.times)*10 + rng.IntN(100_000)))
			part.Records[i] = store.LogRecord{Payload: []byte("x"), Size: 1, Time: at}
			l.times = append(l.times, at)
		}
		if _, err := l.Append(t.Context(), store.AppendParams{Log: l.id, Revision: 1, Parts: []store.AppendPart{part}}); err != nil {
			t.Fatalf("Append of %d records = %v, want nil", len(part.Records), err)
		}
	}
	return l
}

// wantSeeks compares Seek with a look at each record.
func (l *bigLog) wantSeeks(t *testing.T, first int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		at := l.times[rng.IntN(len(l.times))].Add(time.Duration(rng.IntN(100_000)-50_000) * time.Millisecond)
		want := first
		for want < len(l.times) && l.times[want].Before(at) {
			want++
		}
		if got, err := l.Seek(t.Context(), l.id, 0, at); err != nil || got != store.Offset(want) {
			t.Fatalf("Seek(%v) = %d, %v; want %d", at, got, err, want)
		}
	}
}

// TestLogOfManyRecords crosses the borders of all levels of the facts, see lua/logfacts.lua.
func TestLogOfManyRecords(t *testing.T) {
	t.Parallel()
	const records = 64*64*64 + 64*64*3 + 64*5 + 7
	l := newBigLog(t, records)
	ctx := t.Context()
	l.wantSeeks(t, 0)
	for _, first := range []int{1, 63, 64, 64*64 - 1, 64 * 64, 150_000, 64 * 64 * 64, records - 100} {
		b, err := l.Trim(ctx, l.id, 0, store.Offset(first))
		want := store.Bounds{First: store.Offset(first), Next: records, Bytes: int64(records - first)}
		if err != nil || b != want {
			t.Fatalf("Trim(%d) = %+v, %v; want %+v", first, b, err, want)
		}
		l.wantSeeks(t, first)
		r, err := l.Fetch(ctx, store.FetchParams{Log: l.id, Offset: store.Offset(first), Max: 10, MaxBytes: 100})
		if err != nil || len(r.Records) != 10 || r.Records[0].Offset != store.Offset(first) {
			t.Fatalf("Fetch(%d) = %d records, %v; want 10", first, len(r.Records), err)
		}
	}
	// Memory follows: of the records to the end of a node of the stream, of the facts to the end of a block.
	keys := l.logKeys(l.id, nil, 0)
	if n, err := l.client.XLen(ctx, keys[0]).Result(); err != nil || n > 100+200 {
		t.Errorf("the stream has %d entries, %v; want little more than the 100 records that are left", n, err)
	}
	if n, err := l.client.HLen(ctx, keys[1]).Result(); err != nil || n > 10 {
		t.Errorf("there are %d blocks of facts, %v; want those of 100 records", n, err)
	}
}

// Much is fetched in parts, and trimming in between ends the answer, as the end of the partition does.
func TestLogFetchesMuch(t *testing.T) {
	t.Parallel()
	l := newBigLog(t, 5000)
	ctx := t.Context()
	fetch := func(want int, p store.FetchParams) {
		t.Helper()
		p.Log = l.id
		r, err := l.Fetch(ctx, p)
		if err != nil || len(r.Records) != want {
			t.Fatalf("Fetch(%+v) = %d records, %v; want %d", p, len(r.Records), err, want)
		}
		for i, record := range r.Records {
			if o := p.Offset + store.Offset(i); record.Offset != o || !record.Time.Equal(l.times[o]) {
				t.Fatalf("Fetch(%+v): record %d is %+v, want offset %d of %v", p, i, record, o, l.times[o])
			}
		}
	}
	fetch(4999, store.FetchParams{Offset: 1, Max: 1 << 30, MaxBytes: 1 << 40})
	fetch(2500, store.FetchParams{Offset: 1, Max: 2500, MaxBytes: 1 << 40})
	fetch(2500, store.FetchParams{Offset: 1, Max: 1 << 30, MaxBytes: 2500})
	fetch(1, store.FetchParams{Offset: 4999, Max: 1 << 30, MaxBytes: -1})

	big := store.AppendPart{Records: make([]store.LogRecord, 6)}
	for i := range big.Records {
		big.Records[i] = store.LogRecord{Payload: []byte(strings.Repeat("y", 3<<20)), Size: 3 << 20}
	}
	if _, err := l.Append(ctx, store.AppendParams{Log: l.id, Revision: 1, Parts: []store.AppendPart{big}}); err != nil {
		t.Fatal(err)
	}
	r, err := l.Fetch(ctx, store.FetchParams{Log: l.id, Offset: 4999, Max: 10, MaxBytes: 1 << 40})
	if err != nil || len(r.Records) != 7 {
		t.Errorf("Fetch of 18 MiB = %d records, %v; want 7", len(r.Records), err)
	}
}

// A record that is missing in the stream ends the answer before it, or is the answer.
func TestLogMissingRecord(t *testing.T) {
	t.Parallel()
	l := newBigLog(t, 10)
	ctx := t.Context()
	if err := l.client.XDel(ctx, l.logKeys(l.id, nil, 0)[0], "5-1").Err(); err != nil {
		t.Fatal(err)
	}
	r, err := l.Fetch(ctx, store.FetchParams{Log: l.id, Offset: 3, Max: 10, MaxBytes: 100})
	if err != nil || len(r.Records) != 2 {
		t.Errorf("Fetch up to a missing record = %d records, %v; want 2", len(r.Records), err)
	}
	if _, err = l.Fetch(ctx, store.FetchParams{Log: l.id, Offset: 5, Max: 10, MaxBytes: 100}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Fetch of a missing record = %v, want %v", err, store.ErrCorrupt)
	}
}
