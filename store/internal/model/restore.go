package model

import (
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// Restore reads what Encode wrote and checks that it is a possible state.
func Restore(id store.QueueID, b []byte) (*Queue, error) {
	r := reader{b: b}
	q := NewQueue(id)
	q.settings = r.settings()
	q.next = r.seq()
	q.token = store.Token(r.u64())
	q.clock = int64(r.u64())
	q.movedAway = r.ranges(q.next)
	q.restoreNames(&r)
	q.restoreColumns(&r)
	q.restoreSlots(&r)
	q.restoreWaiting(&r)
	if !r.failed {
		q.checkLive(&r)
	}
	if !r.failed {
		q.restoreLanes(&r)
	}
	q.restoreKeys(&r)
	for range r.count(74) {
		q.departed = append(q.departed, r.departed())
	}
	if len(r.b) > 0 { // version 2 ends here
		q.restoreByWall(&r)
	}
	if err := r.done("queue"); err != nil {
		return nil, fmt.Errorf("queue %d: %w", id, err)
	}
	return q, nil
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

func (q *Queue) restoreNames(r *reader) {
	for i := range r.count(4) {
		s := r.text()
		q.names.list = append(q.names.list, text{s: s})
		if s == "" {
			continue
		}
		if q.names.ids == nil {
			q.names.ids = make(map[string]uint32)
		}
		if _, twice := q.names.ids[s]; twice {
			r.failed = true
			return
		}
		q.names.ids[s] = uint32(i) + 1
	}
	freed := make([]bool, len(q.names.list))
	for range r.count(4) {
		n := r.u32()
		if n == 0 || int(n) > len(q.names.list) || q.names.list[n-1].s != "" || freed[n-1] {
			r.failed = true
			return
		}
		freed[n-1] = true
		q.names.free = append(q.names.free, n)
	}
	if len(q.names.free)+len(q.names.ids) != len(q.names.list) {
		r.failed = true
	}
}

func (q *Queue) restoreColumns(r *reader) {
	for range r.count(78) {
		index, live := r.u64(), r.u32()
		ch := &chunk{skip: r.u8(), full: r.flag()}
		var k kinds
		for i := range k.lo {
			k.lo[i], k.hi[i] = r.u64(), r.u64()
		}
		ch.restore(r)
		last := len(q.cols.index) - 1
		if r.failed || live > chunkLen || index > uint64(q.next)/chunkLen || last >= 0 && (q.cols.index[last] >= index || !q.cols.chunks[last].full) {
			r.failed = true
			return
		}
		q.cols.index = append(q.cols.index, index)
		q.cols.live = append(q.cols.live, uint16(live))
		q.cols.chunks = append(q.cols.chunks, ch)
		q.cols.kinds = append(q.cols.kinds, k)
		for i := range uint64(chunkLen) {
			v := k.get(i)
			if v != none && !q.cols.has(store.Seq(index*chunkLen+i)) {
				r.failed = true
				return
			}
			q.cols.counts[v]++
		}
	}
	q.cols.counts[none] = 0
}

func (ch *chunk) restore(r *reader) {
	if !ch.full {
		for range r.count(8 * fields) {
			ch.open = append(ch.open, facts{
				size: r.u32of(), avail: int64(r.u64()), group: r.u32of(), priority: uint8(r.u64()), expires: r.millis(),
				alias: r.u32of(), part: uint8(r.u64()),
			})
		}
		if len(ch.open)+int(ch.skip) >= chunkLen {
			r.failed = true
		}
		return
	}
	for f := range ch.base {
		ch.base[f] = int64(r.u64())
	}
	copy(ch.width[:], r.take(fields))
	if slices.Max(ch.width[:]) > 8 {
		r.failed = true
		return
	}
	ch.data = slices.Clone(r.take(ch.dataLen()))
}

// u32of reads a number that is written as 64 bits and fits in 32.
func (r *reader) u32of() uint32 {
	v := r.u64()
	if v > 1<<32-1 {
		r.failed = true
	}
	return uint32(v)
}

func (q *Queue) restoreSlots(r *reader) {
	for range r.count(57) {
		s := slot{
			seq: r.seq(), due: r.millis(), since: r.millis(), token: store.Token(r.u64()), avail: int64(r.u64()),
			entered: r.u32(), state: state(r.u8()),
		}
		consumer, reason, visits := r.text(), r.text(), r.visits()
		_, twice := q.slots.find(s.seq)
		if r.failed || twice || s.seq == 0 || s.seq >= q.next || !q.cols.has(s.seq) || q.cols.kind(s.seq) != none ||
			len(visits) > maxVisits {
			r.failed = true
			return
		}
		s.consumer, s.reason = q.texts.hold(consumer), q.texts.hold(reason)
		n := q.slots.add(s)
		q.restoreVisits(n, visits)
		q.restoreState(r, n)
		if r.failed {
			return
		}
	}
}

func (q *Queue) restoreVisits(n uint32, list []store.Visit) {
	for i, v := range list {
		q.slots.slab[n].visits = q.visits.add(visit{
			from: Millis(v.LeasedAt.UnixMilli()), to: Millis(v.EndedAt.UnixMilli()), end: v.End, n: uint8(i) + 1,
			consumer: q.texts.hold(v.Consumer), reason: q.texts.hold(v.Reason), before: q.slots.slab[n].visits,
		})
	}
}

func (q *Queue) restoreState(r *reader, n uint32) {
	s := &q.slots.slab[n]
	switch s.state {
	case delayed, backoff:
		q.delays.add(n)
	case leased:
		q.leasedBytes += int64(q.Size(s.seq))
		q.leases.add(n)
	case ready:
		q.back.add(n)
	case dead:
		q.deadBytes += int64(q.Size(s.seq))
		q.dead.add(n)
	default:
		r.failed = true
	}
}

func (q *Queue) restoreWaiting(r *reader) {
	q.findByWall()
	q.planned = q.agenda(r, planned, q.byWall.planned)
	q.ripes = q.agenda(r, ripe, 0)
}

// findByWall lists the messages of kind planned that wait for the wall clock.
func (q *Queue) findByWall() {
	if q.cols.count(planned) == 0 {
		return
	}
	for seq, k := range q.cols.seqs(1) {
		if k == planned && q.cols.byWall(seq) {
			q.byWall.walls.add(q.cols.due(seq), uint64(seq))
			q.byWall.planned++
		}
	}
}

// restoreByWall reads what the wall clock ends, and by how much it was ahead.
func (q *Queue) restoreByWall(r *reader) {
	q.protected, q.byWall.ahead, q.byWall.since = r.millis(), Ahead(r.u64()), r.millis()
	before := store.Seq(0)
	for range r.count(16) {
		seq, wall := r.seq(), r.millis()
		n, touched := q.slots.find(seq)
		if seq <= before || wall <= 0 || !touched || q.slots.slab[n].state != delayed {
			r.failed = true
			return
		}
		before = seq
		if q.byWall.until == nil {
			q.byWall.until = make(map[store.Seq]Millis)
		}
		q.byWall.until[seq] = wall
		q.byWall.walls.add(wall, uint64(seq))
	}
}

// agenda reads moments for all messages of a kind but so many, by sequence.
func (q *Queue) agenda(r *reader, k kind, but int64) (a agenda) {
	for range r.count(16) {
		e := entry{at: r.millis(), id: r.u64()}
		seq := store.Seq(e.id)
		if n := len(a); q.cols.kind(seq) != k || n > 0 && a[n-1].id >= e.id || k == planned && (e.at != q.cols.due(seq) || q.cols.byWall(seq)) {
			r.failed = true
			return nil
		}
		a = append(a, e)
	}
	if int64(len(a)) != q.cols.count(k)-but {
		r.failed = true
	}
	a.order()
	return a
}

// checkLive counts what live messages refer to, and how many there are.
func (q *Queue) checkLive(r *reader) {
	var live int64
	for _, n := range q.cols.live {
		live += int64(n)
	}
	for seq := range q.liveSeqs() {
		if seq == 0 || seq >= q.next {
			r.failed = true
			return
		}
		live--
		q.cols.bytes += int64(q.cols.size(seq))
		if g := q.cols.group(seq); g != 0 {
			if int(g) > len(q.names.list) || q.names.list[g-1].s == "" {
				r.failed = true
				return
			}
			q.names.list[g-1].refs++
		}
		if q.cols.expires(seq) > 0 {
			q.withTTL++
			if q.mayLapse(seq) {
				q.noteExpiry(seq)
			}
		}
	}
	held := func(t text) bool { return t.s != "" && t.refs == 0 }
	if live != 0 || slices.ContainsFunc(q.names.list, held) {
		r.failed = true
	}
}

func (q *Queue) restoreLanes(r *reader) {
	turns := r.u64()
	list := make([]frozenLane, r.count(28))
	for i := range list {
		list[i] = frozenLane{key: r.u32(), turn: r.u64(), clock: int64(r.u64()), inOrder: r.millis()}
	}
	if q.layLanes(); q.lanes == nil {
		r.failed = r.failed || len(list) > 0
		return
	}
	if len(list) != len(q.lanes.index) {
		r.failed = true
		return
	}
	q.lanes.turns = turns
	for _, f := range list {
		n, ok := q.lanes.index[f.key]
		if !ok {
			r.failed = true
			return
		}
		q.lanes.list[n].turn = f.turn
		if f.clock != 0 {
			if q.lanes.clocks == nil {
				q.lanes.clocks = make(map[uint32]int64)
			}
			q.lanes.clocks[n] = f.clock
		}
		if f.inOrder != 0 {
			q.noteInOrder(f.key, f.inOrder)
		}
	}
	q.rearrange()
}

func (q *Queue) restoreKeys(r *reader) {
	for range r.count(68) {
		var key onceKey
		var e onceEntry
		copy(key[:], r.take(16))
		copy(e.fingerprint[:], r.take(16))
		e.first, e.at, e.ends, e.count, e.note, e.fates = r.seq(), r.millis(), r.millis(), r.u32(), r.text(), r.text()
		q.once.restore(key, e)
	}
	for range r.count(32) {
		var key store.DedupKey
		copy(key[:], r.take(16))
		q.dedup.restore(key, acceptance{r.seq(), r.millis()})
	}
	for range r.count(36) {
		var key attemptKey
		copy(key[:], r.take(16))
		q.attempts.restore(key, attempt{store.Token(r.u64()), r.millis(), r.seqs()})
	}
}

func (r *reader) departed() departed {
	return departed{
		seq: r.seq(), alias: r.u32(), removed: r.millis(), how: store.Removal(r.u8()), avail: int64(r.u64()),
		entered: r.u32(), token: store.Token(r.u64()), since: r.millis(), consumer: r.text(), reason: r.text(),
		group: r.text(), priority: r.u8(), expires: r.millis(), visits: r.visits(),
	}
}
