package redis

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// historyLog is a log of one partition whose records, of size 1, are at some offsets, a second apart.
type historyLog struct {
	*history
	offsets []store.Offset
	began   time.Time
}

const someLog = store.LogID(9)

func newHistoryLog(h *history) *historyLog {
	h.Helper()
	l := &historyLog{history: h, began: h.clock.Now()}
	l.settle(1, store.LogSettings{})
	return l
}

// settle changes the settings.
func (l *historyLog) settle(revision uint64, s store.LogSettings) {
	l.Helper()
	s.Revision, s.Partitions = revision, 1
	if err := l.ConfigureLog(l.Context(), someLog, s); err != nil {
		l.Fatalf("ConfigureLog = %v, want nil", err)
	}
}

func (l *historyLog) append(s *Store, n int) store.AppendResult {
	l.Helper()
	return l.appendAt(s, 1, n)
}

func (l *historyLog) appendAt(s *Store, revision uint64, n int) store.AppendResult {
	l.Helper()
	part := store.AppendPart{Records: make([]store.LogRecord, n)}
	for i := range part.Records {
		part.Records[i] = store.LogRecord{Size: 1, Time: l.began.Add(time.Duration(len(l.offsets)+i) * time.Second)}
	}
	r, err := s.Append(l.Context(), store.AppendParams{Log: someLog, Revision: revision, Parts: []store.AppendPart{part}})
	if err != nil {
		l.Fatalf("Append = %v, want nil", err)
	}
	for i := range n {
		l.offsets = append(l.offsets, r.Parts[0].First+store.Offset(i))
	}
	return r
}

// bounds are those that the log has to have.
func (l *historyLog) bounds(next store.Offset) store.Bounds {
	b := store.Bounds{First: next, Next: next, Bytes: int64(len(l.offsets))}
	if len(l.offsets) > 0 {
		b.First = l.offsets[0]
		b.Missing = uint64(next-b.First) - uint64(len(l.offsets))
	}
	return b
}

// check compares all that can be asked of the log with what it has to have, up to next.
func (l *historyLog) check(next store.Offset) {
	l.Helper()
	ctx := l.Context()
	got, err := l.Bounds(ctx, someLog)
	if err != nil || !slices.Equal(got, []store.Bounds{l.bounds(next)}) {
		l.Fatalf("Bounds = %+v, %v; want %+v", got, err, l.bounds(next))
	}
	for i, o := range l.offsets {
		if i > 2 && i%97 > 0 && i < len(l.offsets)-80 {
			continue // enough of them
		}
		r, err := l.Fetch(ctx, store.FetchParams{Log: someLog, Offset: o, Max: 1 << 20, MaxBytes: 1 << 40})
		want := 1
		for i+want < len(l.offsets) && l.offsets[i+want] == o+store.Offset(want) {
			want++
		}
		if err != nil || len(r.Records) != want || r.Records[0].Offset != o || r.Bounds != got[0] {
			l.Fatalf("Fetch(%d) = %d records, %+v, %v; want %d and %+v", o, len(r.Records), r.Bounds, err, want, got[0])
		}
		at := l.began.Add(time.Duration(i) * time.Second)
		if sought, err := l.Seek(ctx, someLog, 0, r.Records[0].Time); err != nil || sought != o {
			l.Fatalf("Seek(%v) = %d, %v; want %d", at, sought, err, o)
		}
	}
	if sought, err := l.Seek(ctx, someLog, 0, l.began.Add(time.Duration(len(l.offsets))*time.Second)); err != nil || sought != next {
		l.Fatalf("Seek of a time to come = %d, %v; want %d", sought, err, next)
	}
	if r, err := l.Fetch(ctx, store.FetchParams{Log: someLog, Offset: next, Max: 1, MaxBytes: 1}); err != nil || len(r.Records) > 0 {
		l.Fatalf("Fetch at the end = %+v, %v; want nothing", r, err)
	}
}

// wantHole says that there is a hole from one offset up to another.
func (l *historyLog) wantHole(from, to store.Offset) {
	l.Helper()
	for _, o := range []store.Offset{from, from + 1, from + 63, to - 1} {
		_, err := l.Fetch(l.Context(), store.FetchParams{Log: someLog, Offset: o, Max: 1, MaxBytes: 1})
		at, ok := errors.AsType[*store.OffsetError](err)
		if !ok || !errors.Is(err, store.ErrTrimmed) || at.Bounds.First != to {
			l.Fatalf("Fetch(%d) in a hole = %v; want %v with bounds from %d on", o, err, store.ErrTrimmed, to)
		}
	}
}

// drop forgets the first n records, which are to be removed.
func (l *historyLog) drop(n int) {
	l.began = l.began.Add(time.Duration(n) * time.Second)
	l.offsets = l.offsets[n:]
}

// TestHoles goes over two holes with everything that reckons with offsets. The first hole begins at the border of a block, or
// inside of one.
func TestHoles(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 63, 64, 65, 64 * 64, 64*64 + 1} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			l := newHistoryLog(newHistory(t))
			ctx := t.Context()
			l.append(l.Store, n)
			before := l.keep()
			lost := l.append(l.Store, 3).Parts[0]
			l.offsets = l.offsets[:n]
			l.back(before, firstBump, l.Store)
			l.check(store.Offset(n)) // nobody has appended yet
			first := l.append(l.Store, 70).Parts[0].First
			if first < lost.First+1<<20 || first%(1<<18) != 0 {
				t.Fatalf("after the failover a record has offset %d, want a multiple of 2^18 that is far above %d", first, lost.First)
			}
			l.append(l.second, 1) // it knows of no failover
			tell(l.Store, secondBump)
			expect := first + 71
			_, err := l.Append(ctx, store.AppendParams{Log: someLog, Revision: 1, Parts: []store.AppendPart{{
				Records: make([]store.LogRecord, 1), Expect: &expect,
			}}})
			at, ok := errors.AsType[*store.OffsetError](err)
			if !ok || !errors.Is(err, store.ErrConflict) || at.Bounds.Next <= expect {
				t.Fatalf("Append at what was the end = %v, want %v and another end", err, store.ErrConflict)
			}
			second := l.append(l.Store, 5).Parts[0].First
			if second != at.Bounds.Next {
				t.Fatalf("a record has offset %d, but %d was said to be the end", second, at.Bounds.Next)
			}
			next := second + 5
			l.check(next)
			l.wantHole(store.Offset(n), first)
			l.wantHole(first+71, second)

			// All the ways to remove what is before, in, and behind holes.
			trim := func(to store.Offset, removes int) {
				t.Helper()
				l.drop(removes)
				if b, err := l.Trim(ctx, someLog, 0, to); err != nil || b != l.bounds(next) {
					t.Fatalf("Trim(%d) = %+v, %v; want %+v", to, b, err, l.bounds(next))
				}
				l.check(next)
			}
			if n > 1 {
				trim(1, 1)
				trim(store.Offset(n)-1, n-2)
			}
			trim(store.Offset(n), 1)
			trim(store.Offset(n)+5, 0)
			trim(first, 0)
			trim(first+3, 3)
			trim(second-1, 68)
			trim(second+1, 1)
			trim(next, 4)
			if keys, err := l.client.HLen(ctx, l.logKeys(someLog, nil, 0)[1]).Result(); err != nil || keys > 3 {
				t.Errorf("%d blocks of facts are left, %v; want those of the last", keys, err)
			}
			l.append(l.Store, 2)
			l.check(next + 2)
		})
	}
}

// Retention removes what is before a hole with the hole, and counts records.
func TestRetentionWithHoles(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]store.LogSettings{
		"age":   {RetentionAge: time.Minute},
		"bytes": {RetentionBytes: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newHistoryLog(newHistory(t))
			l.append(l.Store, 100)
			tell(l.Store, firstBump)
			second := l.append(l.Store, 3).Parts[0].First
			l.clock.Advance(time.Minute)
			tell(l.Store, secondBump)
			third := l.append(l.Store, 4).Parts[0].First
			l.settle(2, settings)
			sweep := func(removes int) store.LogSweepResult {
				t.Helper()
				l.drop(removes)
				r, err := l.SweepLog(t.Context(), someLog)
				if err != nil || r.Trimmed != int64(removes) {
					t.Fatalf("SweepLog = %+v, %v; want %d removed", r, err, removes)
				}
				l.check(third + 4)
				return r
			}
			if settings.RetentionBytes > 0 {
				sweep(101)
				l.wantFirst(second + 1)
				return
			}
			if r := sweep(103); r.NextDue != time.Minute {
				t.Errorf("SweepLog: NextDue %v, want a minute", r.NextDue)
			}
			l.wantFirst(third)
			l.clock.Advance(time.Minute)
			if r := sweep(4); r.NextDue != store.NoDue {
				t.Errorf("SweepLog of all: NextDue %v, want none", r.NextDue)
			}
		})
	}
}

func (l *historyLog) wantFirst(want store.Offset) {
	l.Helper()
	if b, err := l.Bounds(l.Context(), someLog); err != nil || b[0].First != want {
		l.Fatalf("Bounds = %+v, %v; want the first record at %d", b, err, want)
	}
}

// A partition without records moves on as well, and a log that was lost and is made again; one that is new begins at 0.
func TestEmptyPartitionsMoveOn(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	nothing := h.keep()
	l := newHistoryLog(h)
	before := h.keep()
	l.append(h.Store, 1)
	h.back(before, firstBump, h.Store)
	l.offsets = nil
	if first := l.append(h.Store, 1).Parts[0].First; first < 1<<20 {
		t.Errorf("after it lost its only record a partition begins at %d, want far above", first)
	}
	l.check(l.offsets[0] + 1)

	for key, dump := range before {
		if _, other, _ := cutLast(key, "}"); other == "all" { // the registry is on another server
			nothing[key] = dump
		}
	}
	h.back(nothing, secondBump, h.Store)
	l.settle(1, store.LogSettings{})
	l.offsets = nil
	if first := l.append(h.Store, 1).Parts[0].First; first < 1<<20 {
		t.Errorf("a log that was lost and made again begins at %d, want far above", first)
	}
	l.check(l.offsets[0] + 1)

	const fresh = store.LogID(10)
	if err := h.ConfigureLog(t.Context(), fresh, store.LogSettings{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	r, err := h.Append(t.Context(), store.AppendParams{Log: fresh, Revision: 1, Parts: []store.AppendPart{{Records: make([]store.LogRecord, 1)}}})
	if err != nil || r.Parts[0].First != 0 {
		t.Errorf("a new log begins at %+v, %v; want 0", r.Parts, err)
	}
}
