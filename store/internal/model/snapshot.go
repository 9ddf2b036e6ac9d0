package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// The encoding of a whole queue, version 1, with the conventions of encode.go:
//
//	settings | next u64 | token u64
//	fresh    n u32 | n × { from u64 | to u64 }
//	slots    n u32 | n × { seq u64 | due | token u64 | avail i64 | entered u32 | state u8 | consumer text | reason text }
//	columns  n u32 | n × { seq u64 | size u32 | tick i64 }  runs: the values hold from seq to the next run
//	once     n u32 | n × { key 16 | fingerprint 16 | first u64 | at | ends | count u32 | note text }
//
// Equal states give equal bytes, so that snapshots can be compared.

// Snapshot appends the state.
func (q *Queue) Snapshot(b []byte) []byte {
	w := writer{b}
	w.settings(q.settings)
	w.seq(q.next)
	w.u64(uint64(q.token))
	live := q.fresh.spans[q.fresh.head:]
	w.count(len(live))
	for _, s := range live {
		w.seq(s.from)
		w.seq(s.to)
	}
	q.snapshotSlots(&w)
	q.snapshotColumns(&w)
	w.count(len(q.once.ending))
	for _, key := range q.once.ending {
		e := q.once.seen[key]
		w.raw(key[:])
		w.raw(e.fingerprint[:])
		w.seq(e.first)
		w.millis(e.at)
		w.millis(e.ends)
		w.u32(e.count)
		w.text(e.note)
	}
	return w.b
}

func (q *Queue) snapshotSlots(w *writer) {
	w.count(len(q.slots.index))
	order := make([]uint32, 0, len(q.slots.index))
	for n, s := range q.slots.slab {
		if s.seq != 0 {
			order = append(order, uint32(n))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(q.slots.slab[a].seq, q.slots.slab[b].seq) })
	for _, n := range order {
		s := &q.slots.slab[n]
		w.seq(s.seq)
		w.millis(s.due)
		w.u64(uint64(s.token))
		w.u64(uint64(s.avail))
		w.u32(s.entered)
		w.u8(uint8(s.state))
		w.text(q.texts.get(s.consumer))
		w.text(q.texts.get(s.reason))
	}
}

// snapshotColumns writes runs of equal values over the live messages; gaps between them take the value before.
func (q *Queue) snapshotColumns(w *writer) {
	at := len(w.b)
	w.count(0)
	runs := 0
	lastSize, lastTick := uint32(0), int64(-1)
	for seq := range q.liveSeqs() {
		size, tick := q.cols.get(seq)
		if runs > 0 && size == lastSize && tick == lastTick {
			continue
		}
		w.seq(seq)
		w.u32(size)
		w.u64(uint64(tick))
		lastSize, lastTick = size, tick
		runs++
	}
	n := writer{w.b[at:at]}
	n.count(runs)
}

// liveSeqs yields the sequences of all messages in rising order.
func (q *Queue) liveSeqs() func(yield func(store.Seq) bool) {
	return func(yield func(store.Seq) bool) {
		touched := slices.Sorted(maps.Keys(q.slots.index))
		spans := q.fresh.spans[q.fresh.head:]
		for len(touched) > 0 || len(spans) > 0 {
			if len(spans) == 0 || len(touched) > 0 && touched[0] < spans[0].from {
				if !yield(touched[0]) {
					return
				}
				touched = touched[1:]
				continue
			}
			for seq := spans[0].from; seq <= spans[0].to; seq++ {
				if !yield(seq) {
					return
				}
			}
			spans = spans[1:]
		}
	}
}

// Restore reads what Snapshot wrote.
func Restore(id store.QueueID, b []byte) (*Queue, error) {
	r := reader{b: b}
	q := NewQueue(id)
	q.settings = r.settings()
	q.next = r.seq()
	q.token = store.Token(r.u64())
	before := store.Seq(0)
	for range r.count(16) {
		s := span{r.seq(), r.seq()}
		if s.from <= before || s.to < s.from || s.to >= q.next {
			r.failed = true
			break
		}
		before = s.to
		q.fresh.spans = append(q.fresh.spans, s)
		q.fresh.count += int64(s.to-s.from) + 1
	}
	q.restoreSlots(&r)
	q.restoreColumns(&r)
	for range r.count(64) {
		var key onceKey
		var e onceEntry
		copy(key[:], r.take(16))
		copy(e.fingerprint[:], r.take(16))
		e.first, e.at, e.ends, e.count, e.note = r.seq(), r.millis(), r.millis(), r.u32(), r.text()
		q.once.restore(key, e)
	}
	if err := r.done("queue"); err != nil {
		return nil, fmt.Errorf("queue %d: %w", id, err)
	}
	return q, nil
}

func (q *Queue) restoreSlots(r *reader) {
	for range r.count(45) {
		s := slot{
			seq: r.seq(), due: r.millis(), token: store.Token(r.u64()), avail: int64(r.u64()),
			entered: r.u32(), state: state(r.u8()),
		}
		s.consumer = q.texts.hold(r.text())
		s.reason = q.texts.hold(r.text())
		if _, twice := q.slots.find(s.seq); r.failed || twice || s.seq >= q.next || q.fresh.has(s.seq) {
			r.failed = true
			return
		}
		n := q.slots.add(s)
		switch s.state {
		case delayed:
			q.delayed++
			q.timed.add(n)
		case leased:
			q.timed.add(n)
		case ready:
			q.back.add(n)
		case dead:
			q.dead.add(n)
		default:
			r.failed = true
			return
		}
	}
}

func (q *Queue) restoreColumns(r *reader) {
	type run struct {
		seq  store.Seq
		size uint32
		tick int64
	}
	runs := make([]run, r.count(20))
	for i := range runs {
		runs[i] = run{r.seq(), r.u32(), int64(r.u64())}
	}
	if r.failed {
		return
	}
	at := -1
	for seq := range q.liveSeqs() {
		for at+1 < len(runs) && runs[at+1].seq <= seq {
			at++
		}
		if at < 0 {
			r.failed = true
			return
		}
		q.cols.restore(seq, runs[at].size, runs[at].tick)
	}
	q.cols.restored(q.next)
}
