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
//	moved    as fresh
//	slots    n u32 | n × { seq u64 | due | token u64 | avail i64 | entered u32 | state u8 | consumer text | reason text }
//	columns  n u32 | n × { index u64 | live u16 as u32 | skip u8 | full u8 | values }
//	         values of a full chunk     base size u32 | base tick i64 | width of sizes u8 | of ticks u8 | packed bytes
//	         values of one that fills   n u32 | n × { size u32 | tick i64 }
//	once     n u32 | n × { key 16 | fingerprint 16 | first u64 | at | ends | count u32 | note text }
//
// Equal states give equal bytes, so that snapshots can be compared.

// Frozen is the state of a queue at one instant, to be encoded after the queue's lock was given up.
type Frozen struct {
	settings store.Settings
	next     store.Seq
	token    store.Token
	spans    []span
	moved    []span
	slab     []slot
	texts    []text
	cols     columns
	keys     []onceKey
	once     []onceEntry
}

// Freeze copies what may change and shares what does not: a few bytes for each chunk of messages, the slots of those
// that were touched.
func (q *Queue) Freeze() *Frozen {
	f := &Frozen{
		settings: q.settings, next: q.next, token: q.token,
		spans: slices.Clone(q.fresh.spans[q.fresh.head:]),
		moved: slices.Clone(q.moved.spans[q.moved.head:]),
		slab:  slices.Clone(q.slots.slab),
		texts: slices.Clone(q.texts.list),
		cols: columns{
			chunks: slices.Clone(q.cols.chunks), live: slices.Clone(q.cols.live), index: slices.Clone(q.cols.index),
		},
		keys: slices.Clone(q.once.ending),
	}
	if n := len(f.cols.chunks); n > 0 && f.cols.chunks[n-1] != nil && !f.cols.chunks[n-1].full {
		last := *f.cols.chunks[n-1] // appending to it does not touch the values it has
		f.cols.chunks[n-1] = &last
	}
	for _, key := range f.keys {
		f.once = append(f.once, q.once.seen[key])
	}
	return f
}

// Next is the sequence that the next message would have had.
func (f *Frozen) Next() store.Seq { return f.next }

// Encode appends the encoding.
func (f *Frozen) Encode(b []byte) []byte {
	w := writer{b}
	w.settings(f.settings)
	w.seq(f.next)
	w.u64(uint64(f.token))
	w.spans(f.spans)
	w.spans(f.moved)
	f.encodeSlots(&w)
	f.encodeColumns(&w)
	w.count(len(f.keys))
	for i, e := range f.once {
		w.raw(f.keys[i][:])
		w.raw(e.fingerprint[:])
		w.seq(e.first)
		w.millis(e.at)
		w.millis(e.ends)
		w.u32(e.count)
		w.text(e.note)
	}
	return w.b
}

func (f *Frozen) encodeSlots(w *writer) {
	slab := slices.DeleteFunc(f.slab, func(s slot) bool { return s.seq == 0 })
	slices.SortFunc(slab, func(a, b slot) int { return cmp.Compare(a.seq, b.seq) })
	texts := texts{list: f.texts}
	w.count(len(slab))
	for _, s := range slab {
		w.seq(s.seq)
		w.millis(s.due)
		w.u64(uint64(s.token))
		w.u64(uint64(s.avail))
		w.u32(s.entered)
		w.u8(uint8(s.state))
		w.text(texts.get(s.consumer))
		w.text(texts.get(s.reason))
	}
	f.slab = nil
}

func (f *Frozen) encodeColumns(w *writer) {
	n := 0
	for _, ch := range f.cols.chunks {
		if ch != nil {
			n++
		}
	}
	w.count(n)
	for at, ch := range f.cols.chunks {
		if ch == nil {
			continue
		}
		w.u64(f.cols.index[at])
		w.u32(uint32(f.cols.live[at]))
		w.u8(ch.skip)
		w.flag(ch.full)
		if ch.full {
			w.u32(ch.baseS)
			w.u64(uint64(ch.baseT))
			w.u8(ch.widthS)
			w.u8(ch.widthT)
			w.raw(ch.data)
			continue
		}
		w.count(len(ch.sizes))
		for i, size := range ch.sizes {
			w.u32(size)
			w.u64(uint64(ch.ticks[i]))
		}
	}
}

// Restore reads what Encode wrote and checks that it is a possible state.
func Restore(id store.QueueID, b []byte) (*Queue, error) {
	r := reader{b: b}
	q := NewQueue(id)
	q.settings = r.settings()
	q.next = r.seq()
	q.token = store.Token(r.u64())
	q.fresh, q.moved = r.ranges(q.next), r.ranges(q.next)
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

func (w *writer) spans(list []span) {
	w.count(len(list))
	for _, s := range list {
		w.seq(s.from)
		w.seq(s.to)
	}
}

// ranges reads spans that rise and lie below next.
func (r *reader) ranges(next store.Seq) (set ranges) {
	before := store.Seq(0)
	for range r.count(16) {
		s := span{r.seq(), r.seq()}
		if s.from <= before || s.to < s.from || s.to >= next {
			r.failed = true
			return ranges{}
		}
		before = s.to
		set.spans = append(set.spans, s)
		set.count += int64(s.to-s.from) + 1
	}
	return set
}

func (q *Queue) restoreSlots(r *reader) {
	for range r.count(45) {
		s := slot{
			seq: r.seq(), due: r.millis(), token: store.Token(r.u64()), avail: int64(r.u64()),
			entered: r.u32(), state: state(r.u8()),
		}
		consumer, reason := r.text(), r.text()
		_, twice := q.slots.find(s.seq)
		if r.failed || twice || s.seq == 0 || s.seq >= q.next || q.fresh.has(s.seq) {
			r.failed = true
			return
		}
		s.consumer, s.reason = q.texts.hold(consumer), q.texts.hold(reason)
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
	var live int64
	for range r.count(18) {
		index, n := r.u64(), r.u32()
		ch := &chunk{skip: r.u8(), full: r.flag()}
		ch.restore(r)
		last := len(q.cols.index) - 1
		if r.failed || n > chunkLen || last >= 0 && q.cols.index[last] >= index {
			r.failed = true
			return
		}
		live += int64(n)
		q.cols.index = append(q.cols.index, index)
		q.cols.live = append(q.cols.live, uint16(n))
		q.cols.chunks = append(q.cols.chunks, ch)
	}
	if live != q.Len() {
		r.failed = true
		return
	}
	for seq := range q.liveSeqs() {
		if !q.cols.has(seq) {
			r.failed = true
			return
		}
		size, _ := q.cols.get(seq)
		q.cols.bytes += int64(size)
	}
}

func (ch *chunk) restore(r *reader) {
	if !ch.full {
		for range r.count(12) {
			ch.sizes = append(ch.sizes, r.u32())
			ch.ticks = append(ch.ticks, int64(r.u64()))
		}
		return
	}
	ch.baseS, ch.baseT = r.u32(), int64(r.u64())
	ch.widthS, ch.widthT = r.u8(), r.u8()
	if ch.widthS > 8 || ch.widthT > 8 {
		r.failed = true
		return
	}
	ch.data = slices.Clone(r.take(ch.dataLen()))
}

// has says whether there are values for seq.
func (c *columns) has(seq store.Seq) bool {
	if len(c.index) == 0 {
		return false
	}
	at := c.find(seq)
	if at == len(c.index) || c.index[at] != uint64(seq)/chunkLen {
		return false
	}
	ch, i := c.chunks[at], int(uint64(seq)%chunkLen)-int(c.chunks[at].skip)
	return i >= 0 && (ch.full || i < len(ch.sizes))
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
