package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// logHistories runs random calls about logs on the backend and on the plain reference, with one clock, and compares all
// answers. In every other history each call appends one record, so that sizes are exact and bound the partitions, too.
func logHistories(t *testing.T, h Harness) {
	t.Helper()
	s := seed(t)
	runs, length := runs(40, 5_000), size(300, 600)
	for run := range runs {
		clock := NewClock()
		w := logHistory{T: t, rng: random(s, uint64(run)), clock: clock, single: run%2 == 0}
		w.stores = [2]store.Store{h.Open(t, clock), newPlain(clock)}
		for range length {
			w.step(h)
			if w.diverged != "" {
				t.Fatalf("log history %d of seed %d:\n%s\n%s", run, s, strings.Join(w.story[max(0, len(w.story)-30):], "\n"), w.diverged)
			}
		}
		h.close(t, w.stores[0])
	}
}

// logHistory is one history under way.
type logHistory struct {
	*testing.T
	rng    *rand.Rand
	clock  *Clock
	single bool
	// stores are the backend and the reference.
	stores [2]store.Store

	logs     []store.LogID
	created  store.LogID
	dropped  []store.LogID
	settings map[store.LogID]store.LogSettings
	sent     uint64
	story    []string
	diverged string
}

// both makes one call on both stores and compares what they answer.
func (w *logHistory) both(name string, call func(store.Store) (any, error)) {
	var answers [2]string
	for i, s := range w.stores {
		got, err := call(s)
		if answers[i] = fmt.Sprintf("%+v", got); err != nil {
			answers[i] = logError(err)
		}
	}
	w.story = append(w.story, fmt.Sprintf("  %s = %.300s", name, answers[1]))
	if answers[0] != answers[1] {
		w.diverged = fmt.Sprintf("%s: got\n    %s\nwant\n    %s", name, answers[0], answers[1])
	}
}

// logError says what an error is as far as the contract says it.
func logError(err error) string {
	for _, kind := range []error{
		store.ErrGone, store.ErrStaleConfig, store.ErrKeyReused, store.ErrConflict, store.ErrTrimmed, store.ErrOutOfRange,
	} {
		if !errors.Is(err, kind) {
			continue
		}
		if at, ok := errors.AsType[*store.OffsetError](err); ok {
			return fmt.Sprintf("%v: offset %d of %d to %d", kind, at.Offset, at.Bounds.First, at.Bounds.Next)
		}
		return kind.Error()
	}
	return err.Error()
}

func (w *logHistory) step(h Harness) {
	if len(w.logs) == 0 || w.rng.IntN(60) == 0 {
		w.create()
		return
	}
	id := w.logs[w.rng.IntN(len(w.logs))]
	partition := uint32(w.rng.IntN(int(w.settings[id].Partitions) + w.rng.IntN(20)/19))
	switch n := w.rng.IntN(100); {
	case n < 40:
		w.append(id)
	case n < 60:
		p := store.FetchParams{Log: id, Partition: partition, Offset: w.offset(), Max: 1 + w.rng.IntN(30), MaxBytes: w.rng.Int64N(3000)}
		w.both(fmt.Sprintf("Fetch(%+v)", p), func(s store.Store) (any, error) {
			r, err := s.Fetch(w.Context(), p)
			return w.shown(r), err
		})
	case n < 68:
		at := epoch.Add(time.Duration(w.rng.IntN(200_000)) * time.Millisecond)
		w.both(fmt.Sprintf("Seek(%x, %d, %v)", uint64(id), partition, at), func(s store.Store) (any, error) {
			return s.Seek(w.Context(), id, partition, at)
		})
	case n < 73:
		before := w.offset()
		w.both(fmt.Sprintf("Trim(%x, %d, %d)", uint64(id), partition, before), func(s store.Store) (any, error) {
			b, err := s.Trim(w.Context(), id, partition, before)
			return w.exact(b), err
		})
	case n < 80:
		w.both(fmt.Sprintf("SweepLog(%x)", uint64(id)), func(s store.Store) (any, error) { return s.SweepLog(w.Context(), id) })
	case n < 85:
		w.both(fmt.Sprintf("Bounds(%x)", uint64(id)), func(s store.Store) (any, error) {
			list, err := s.Bounds(w.Context(), id)
			for i := range list {
				list[i] = w.exact(list[i])
			}
			return list, err
		})
	case n < 93:
		w.clock.Advance(time.Duration(w.rng.IntN(5000)) * time.Millisecond)
	case n < 96:
		w.configure(id)
	case n < 97:
		w.dropped = append(w.dropped, id)
		w.both(fmt.Sprintf("DropLog(%x)", uint64(id)), func(s store.Store) (any, error) { return nil, s.DropLog(w.Context(), id) })
	case h.Reopen != nil:
		w.stores[0] = h.Reopen(w.T, w.stores[0])
		w.story = append(w.story, "  reopen")
	}
}

// offset draws one that is there more often than not.
func (w *logHistory) offset() store.Offset { return store.Offset(w.rng.IntN(1 + w.rng.IntN(60))) }

// exact leaves out what is an estimate.
func (w *logHistory) exact(b store.Bounds) store.Bounds {
	if !w.single {
		b.Bytes = 0
	}
	return b
}

func (w *logHistory) shown(r store.FetchResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", w.exact(r.Bounds))
	for _, record := range r.Records {
		fmt.Fprintf(&b, " {%d %s %d %d}", record.Offset, record.Payload[:min(len(record.Payload), 12)], record.Size, record.Time.UnixMilli())
	}
	return b.String()
}

func (w *logHistory) create() {
	w.created++
	id := w.created * 0x9E3779B97F4A7C15
	if len(w.logs) > 4 {
		w.logs = w.logs[1:]
	}
	if w.settings == nil {
		w.settings = make(map[store.LogID]store.LogSettings)
	}
	w.logs = append(w.logs, id)
	w.configure(id)
}

func (w *logHistory) configure(id store.LogID) {
	if slices.Contains(w.dropped, id) {
		return // generations are never used again
	}
	s := w.settings[id]
	s.Revision++
	s.Partitions += uint32(w.rng.IntN(2))
	s.Partitions = max(s.Partitions, 1)
	s.RetentionAge, s.RetentionBytes = time.Duration(w.rng.IntN(3)*w.rng.IntN(30))*time.Second, 0
	if w.single && w.rng.IntN(2) == 0 {
		s.RetentionBytes = w.rng.Int64N(4000)
	}
	w.settings[id] = s
	w.both(fmt.Sprintf("ConfigureLog(%x, %+v)", uint64(id), s), func(st store.Store) (any, error) {
		return nil, st.ConfigureLog(w.Context(), id, s)
	})
}

func (w *logHistory) append(id store.LogID) {
	s := w.settings[id]
	p := store.AppendParams{Log: id, Revision: s.Revision - uint64(w.rng.IntN(30)/29)}
	for _, partition := range w.rng.Perm(int(s.Partitions))[:1+w.rng.IntN(int(s.Partitions))] {
		part := store.AppendPart{Partition: uint32(partition)}
		n := 1
		if !w.single {
			n += w.rng.IntN(5)
		}
		for range n {
			w.sent++
			body := fmt.Sprintf("%012d%s", w.sent, strings.Repeat("x", w.rng.IntN(1+w.rng.IntN(300))))
			r := store.LogRecord{Payload: []byte(body), Size: uint32(len(body))}
			if w.rng.IntN(2) == 0 {
				r.Time = epoch.Add(time.Duration(w.rng.IntN(200_000)) * time.Millisecond)
			}
			part.Records = append(part.Records, r)
		}
		if w.rng.IntN(10) == 0 {
			part.Expect = new(w.offset())
		}
		p.Parts = append(p.Parts, part)
	}
	if w.rng.IntN(5) == 0 {
		key := byte(w.rng.IntN(8))
		p.Once = &store.Once{Key: [16]byte{key}, Fingerprint: [16]byte{byte(w.rng.IntN(10) / 9)}, Window: 20 * time.Second, Note: []byte{key}}
	}
	w.both(fmt.Sprintf("Append(%x, %d parts, once %v)", uint64(id), len(p.Parts), p.Once), func(st store.Store) (any, error) {
		r, err := st.Append(w.Context(), p)
		return fmt.Sprintf("%+v at %d, duplicate %v, note %v", r.Parts, r.At.UnixMilli(), r.Duplicate, r.Note), err
	})
}
