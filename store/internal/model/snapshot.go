package model

import (
	"cmp"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// The encoding of a whole queue, version 3, with the conventions of encode.go:
//
//	settings | next u64 | token u64 | clock i64 (ns)
//	moved    n u32 | n × { from u64 | to u64 }
//	names    n u32 | n × text, empty for a free number | n u32 | n × free number u32
//	columns  n u32 | n × { index u64 | live u32 | skip u8 | full u8 | kinds 64 | values }
//	         values of a full chunk     7 × base i64 | 7 × width u8 | packed bytes
//	         values of one that fills   n u32 | n × { 7 × i64 }
//	slots    n u32 | n × { seq u64 | due | since | token u64 | avail i64 | entered u32 | state u8 | consumer text |
//	                       reason text | visits }
//	visits   n u32 | n × { from | to | end u8 | consumer text | reason text }
//	planned  n u32 | n × { due | seq u64 }
//	ripe     n u32 | n × { tick i64 | seq u64 }
//	lanes    turns u64 | n u32 | n × { key u32 | turn u64 | clock i64 (ns) | in order }
//	once     n u32 | n × { key 16 | fingerprint 16 | first u64 | at | ends | count u32 | note text | fates text }
//	recent   n u32 | n × { key 16 | seq u64 | ends }
//	attempts n u32 | n × { key 16 | token u64 | ends | seqs }
//	past     n u32 | n × { seq u64 | alias u32 | removed | how u8 | avail i64 | entered u32 | token u64 | since |
//	                       consumer text | reason text | group text | priority u8 | expires | visits }
//	wall     protected | ahead i64 | since | n u32 | n × { seq u64 | what the wall clock has to show }; not in version 2
//
// Equal states give equal bytes, so that snapshots can be compared.

// Frozen is the state of a queue at one instant, to be encoded after the queue's lock was given up.
type Frozen struct {
	settings store.Settings
	now      Millis
	next     store.Seq
	token    store.Token
	clock    int64
	moved    []span
	names    []text
	freed    []uint32
	cols     columns
	slab     []slot
	texts    texts
	visits   visits
	planned  agenda
	ripes    agenda
	turns    uint64
	lanes    []frozenLane
	keys     []onceKey
	once     []onceEntry
	dedup    dedup
	attempts []frozenAttempt
	departed []departed

	protected Millis
	ahead     Ahead
	since     Millis
	until     []entry
}

type frozenLane struct {
	key     uint32
	turn    uint64
	clock   int64
	inOrder Millis
}

type frozenAttempt struct {
	key attemptKey
	attempt
}

// Freeze copies what may change and shares what does not: some bytes for each chunk of messages, the slots of those
// that were touched, the lanes of groups.
func (q *Queue) Freeze() *Frozen {
	f := &Frozen{
		settings: q.settings, now: q.now, next: q.next, token: q.token, clock: q.clock,
		moved: slices.Clone(q.movedAway.spans[q.movedAway.head:]),
		names: slices.Clone(q.names.list), freed: slices.Clone(q.names.free),
		cols: q.cols.freeze(), slab: slices.Clone(q.slots.slab),
		texts: texts{list: slices.Clone(q.texts.list)}, visits: visits{list: slices.Clone(q.visits.list)},
		planned: slices.Clone(q.planned), ripes: slices.Clone(q.ripes),
		keys: slices.Clone(q.once.ending), dedup: q.dedup.freeze(q.now), departed: slices.Clone(q.departed),
	}
	f.protected, f.ahead, f.since = q.protected, q.byWall.ahead, q.byWall.since
	for seq, wall := range q.byWall.until {
		f.until = append(f.until, entry{wall, uint64(seq)})
	}
	for _, key := range f.keys {
		f.once = append(f.once, q.once.seen[key])
	}
	for _, e := range q.attempts.valid() {
		if e.ends > q.now {
			f.attempts = append(f.attempts, frozenAttempt{e.key, q.attempts.seen[e.key]})
		}
	}
	if q.lanes != nil {
		f.turns = q.lanes.turns
		for key, n := range q.lanes.index {
			f.lanes = append(f.lanes, frozenLane{key, q.lanes.list[n].turn, q.lanes.clocks[n], q.lanes.inOrder[n]})
		}
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
	w.u64(uint64(f.clock))
	w.spans(f.moved)
	w.count(len(f.names))
	for _, t := range f.names {
		w.text(t.s)
	}
	w.count(len(f.freed))
	for _, n := range f.freed {
		w.u32(n)
	}
	f.encodeColumns(&w)
	f.encodeSlots(&w)
	f.encodeWaiting(&w)
	f.encodeLanes(&w)
	f.encodeKeys(&w)
	w.count(len(f.departed))
	for i := range f.departed {
		w.departed(&f.departed[i])
	}
	f.encodeByWall(&w)
	return w.b
}

func (f *Frozen) encodeSlots(w *writer) {
	slab := slices.DeleteFunc(f.slab, func(s slot) bool { return s.seq == 0 })
	slices.SortFunc(slab, func(a, b slot) int { return cmp.Compare(a.seq, b.seq) })
	reader := Queue{texts: f.texts, visits: f.visits}
	w.count(len(slab))
	for _, s := range slab {
		w.seq(s.seq)
		w.millis(s.due)
		w.millis(s.since)
		w.u64(uint64(s.token))
		w.u64(uint64(s.avail))
		w.u32(s.entered)
		w.u8(uint8(s.state))
		w.text(f.texts.get(s.consumer))
		w.text(f.texts.get(s.reason))
		w.visits(reader.visitsOf(s.visits))
	}
	f.slab = nil
}

func (w *writer) visits(list []store.Visit) {
	w.count(len(list))
	for _, v := range list {
		w.millis(Millis(v.LeasedAt.UnixMilli()))
		w.millis(Millis(v.EndedAt.UnixMilli()))
		w.u8(uint8(v.End))
		w.text(v.Consumer)
		w.text(v.Reason)
	}
}

func (r *reader) visits() []store.Visit {
	var list []store.Visit
	for range r.count(25) {
		list = append(list, store.Visit{
			LeasedAt: Time(r.millis()), EndedAt: Time(r.millis()), End: store.End(r.u8()), Consumer: r.text(), Reason: r.text(),
		})
	}
	return list
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
		for i := range f.cols.kinds[at].lo {
			w.u64(f.cols.kinds[at].lo[i])
			w.u64(f.cols.kinds[at].hi[i])
		}
		if ch.full {
			for _, v := range ch.base {
				w.u64(uint64(v))
			}
			w.raw(ch.width[:])
			w.raw(ch.data)
			continue
		}
		w.count(len(ch.open))
		for i := range ch.open {
			for _, v := range ch.open[i].row() {
				w.u64(uint64(v))
			}
		}
	}
}

// encodeWaiting writes what is planned and ripe, without what became void.
func (f *Frozen) encodeWaiting(w *writer) {
	for _, part := range []struct {
		list agenda
		kind kind
	}{{f.planned, planned}, {f.ripes, ripe}} {
		list := slices.DeleteFunc(part.list, func(e entry) bool { return f.cols.kind(store.Seq(e.id)) != part.kind })
		slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
		w.count(len(list))
		for _, e := range list {
			w.millis(e.at)
			w.u64(e.id)
		}
	}
	f.planned, f.ripes = nil, nil
}

func (f *Frozen) encodeLanes(w *writer) {
	slices.SortFunc(f.lanes, func(a, b frozenLane) int { return cmp.Compare(a.key, b.key) })
	w.u64(f.turns)
	w.count(len(f.lanes))
	for _, l := range f.lanes {
		w.u32(l.key)
		w.u64(l.turn)
		w.u64(uint64(l.clock))
		w.millis(l.inOrder)
	}
}

func (f *Frozen) encodeKeys(w *writer) {
	w.count(len(f.keys))
	for i, e := range f.once {
		w.raw(f.keys[i][:])
		w.raw(e.fingerprint[:])
		w.seq(e.first)
		w.millis(e.at)
		w.millis(e.ends)
		w.u32(e.count)
		w.text(e.note)
		w.text(e.fates)
	}
	keys, firsts := f.dedup.list(f.now)
	w.count(len(keys))
	for i, key := range keys {
		w.raw(key[:])
		w.seq(firsts[i].seq)
		w.millis(firsts[i].ends)
	}
	w.count(len(f.attempts))
	for _, a := range f.attempts {
		w.raw(a.key[:])
		w.u64(uint64(a.token))
		w.millis(a.ends)
		w.seqs(a.seqs)
	}
}

func (f *Frozen) encodeByWall(w *writer) {
	w.millis(f.protected)
	w.u64(uint64(f.ahead))
	w.millis(f.since)
	slices.SortFunc(f.until, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	w.count(len(f.until))
	for _, e := range f.until {
		w.u64(e.id)
		w.millis(e.at)
	}
}

func (w *writer) departed(p *departed) {
	w.seq(p.seq)
	w.u32(p.alias)
	w.millis(p.removed)
	w.u8(uint8(p.how))
	w.u64(uint64(p.avail))
	w.u32(p.entered)
	w.u64(uint64(p.token))
	w.millis(p.since)
	w.text(p.consumer)
	w.text(p.reason)
	w.text(p.group)
	w.u8(p.priority)
	w.millis(p.expires)
	w.visits(p.visits)
}

func (w *writer) spans(list []span) {
	w.count(len(list))
	for _, s := range list {
		w.seq(s.from)
		w.seq(s.to)
	}
}
