package model

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// A queue in which more than age decides has lanes: one for each group with messages (Fair and FIFO), or one for each
// level with messages. A plain queue has none, and chooses from all its messages.

// lane counts the messages of one group or level and lists those that are ready.
type lane struct {
	key                          uint32 // text of the group, or the level
	ready, leased, delayed, dead uint32
	backoff                      uint32 // how many of the delayed were given back: in a FIFO queue they lock the group
	pos                          int32  // its place in the heap of lanes that may be served, plus 1; 0 when it is not in
	turn                         uint64 // when it was served last
	// head is the first of the fresh ones, by sequence; 0 for none. It may not be fresh any more. more is nil in the usual
	// group, which has one message.
	head store.Seq
	more *more
}

// more lists what is ready in a lane after its head.
type more struct {
	// The fresh ones: the distances from one to the next, up to tail, as varints. Some may not be fresh any more.
	rest []byte
	tail store.Seq
	// back are the slots of other ready ones, as a heap.
	back []uint32
}

func (l *lane) empty() bool { return l.ready+l.leased+l.delayed+l.dead == 0 }

func (l *lane) append(seq store.Seq) {
	if l.head == 0 {
		l.head = seq
		return
	}
	m := l.rest()
	if len(m.rest) == 0 {
		m.tail = l.head
	}
	m.rest = binary.AppendUvarint(m.rest, uint64(seq-m.tail))
	m.tail = seq
}

// pop takes the first of the fresh list off.
func (l *lane) pop() {
	if l.more == nil || len(l.more.rest) == 0 {
		l.head = 0
	} else {
		d, n := binary.Uvarint(l.more.rest)
		l.head += store.Seq(d)
		l.more.rest = l.more.rest[n:]
	}
	l.shrink()
}

func (l *lane) rest() *more {
	if l.more == nil {
		l.more = &more{}
	}
	return l.more
}

// shrink lets go of what an only message does not need.
func (l *lane) shrink() {
	if l.more != nil && len(l.more.rest) == 0 && len(l.more.back) == 0 {
		l.more = nil
	}
}

func newLanes() *lanes { return &lanes{index: make(map[uint32]uint32)} }

// keepBack puts slot n into the lane's heap, and dropBack takes it out.
func (q *Queue) keepBack(l *lane, n uint32) {
	o := q.backHeap(l)
	o.add(n)
	l.rest().back = o.items
}

func (q *Queue) dropBack(l *lane, n uint32) {
	o := q.backHeap(l)
	o.take(n)
	l.rest().back = o.items
	l.shrink()
}

// backHeap is the heap of a lane's slots.
func (q *Queue) backHeap(l *lane) order {
	o := order{slots: &q.slots, less: byAge, which: 1, items: l.rest().back}
	if q.settings.Mode == store.FIFO {
		o.less = bySeq
	}
	return o
}

// tailed says whether what is leased or backs off blocks only what is behind it in its group.
func (q *Queue) tailed() bool { return q.settings.Mode == store.FIFO && q.settings.Tail }

// hold notes that slot n, which is leased or backs off, blocks what is behind it, and release that it does no more.
func (q *Queue) hold(n uint32) {
	if !q.tailed() {
		return
	}
	k, o := q.heldHeap(n)
	o.add(n)
	if q.lanes.held == nil {
		q.lanes.held = make(map[uint32][]uint32)
	}
	q.lanes.held[k] = o.items
}

func (q *Queue) release(n uint32) {
	if !q.tailed() {
		return
	}
	k, o := q.heldHeap(n)
	if o.take(n); o.empty() {
		delete(q.lanes.held, k)
		return
	}
	q.lanes.held[k] = o.items
}

// heldHeap is the lane of slot n, and what is held there.
func (q *Queue) heldHeap(n uint32) (lane uint32, o order) {
	lane = q.lanes.index[q.key(q.slots.slab[n].seq)]
	return lane, order{slots: &q.slots, less: bySeq, which: 1, items: q.lanes.held[lane]}
}

// holdAll notes anew what blocks, after the settings have changed whether that is noted.
func (q *Queue) holdAll() {
	q.lanes.held = nil
	for _, o := range []*order{&q.leases, &q.delays} {
		for _, n := range o.items {
			if q.slots.slab[n].state != delayed {
				q.hold(n)
			}
		}
	}
}

// blocker is the first message of lane n, by sequence, that is leased or backs off, in a queue with Tail; nil when there is
// none.
func (q *Queue) blocker(n uint32) *slot {
	if held := q.lanes.held[n]; len(held) > 0 {
		return &q.slots.slab[held[0]]
	}
	return nil
}

// lanes of one queue. Numbers of lanes are their places in list.
type lanes struct {
	list   []lane
	free   []uint32
	index  map[uint32]uint32 // by key
	active []uint32          // a heap: those that may be served, next first
	turns  uint64
	// clocks are what the rates of lanes count, in nanoseconds of queue time. Lanes that could be served but for their
	// rate are spent until a moment, which is also in the agenda.
	clocks map[uint32]int64
	spent  map[uint32]Millis
	agenda agenda
	// held are, in a queue with Tail, the leased and backing off slots of each lane that has any, as a heap by sequence.
	held map[uint32][]uint32
	// inOrder is the latest due time of messages sent InOrder.
	inOrder map[uint32]Millis
}

// laned says whether the settings call for lanes.
func laned(s *store.Settings) bool { return grouped(s) || s.Levels > 1 }

// grouped says whether there is a lane for each group.
func grouped(s *store.Settings) bool {
	return s.Mode != store.Standard || s.GroupInFlight > 0 || s.GroupInterval > 0
}

// key is that of the lane a message belongs to.
func (q *Queue) key(seq store.Seq) uint32 {
	if grouped(&q.settings) {
		return q.cols.group(seq)
	}
	return uint32(min(q.cols.priority(seq), q.settings.Levels-1))
}

// lane finds the lane of a message; nil in a queue without lanes.
func (q *Queue) lane(seq store.Seq) *lane {
	if q.lanes == nil {
		return nil
	}
	return &q.lanes.list[q.lanes.index[q.key(seq)]]
}

// join makes sure that there is a lane for a message that is added.
func (ls *lanes) join(key uint32) *lane {
	n, ok := ls.index[key]
	if !ok {
		if k := len(ls.free); k > 0 {
			n, ls.free = ls.free[k-1], ls.free[:k-1]
		} else {
			n = uint32(len(ls.list))
			ls.list = append(ls.list, lane{})
		}
		ls.turns++
		ls.list[n] = lane{key: key, turn: ls.turns}
		ls.index[key] = n
	}
	return &ls.list[n]
}

// enter counts a message in a state, and exit takes it out of one.
func (q *Queue) enter(seq store.Seq, st state) { q.tally(seq, st, 1) }
func (q *Queue) exit(seq store.Seq, st state)  { q.tally(seq, st, ^uint32(0)) }

func (q *Queue) tally(seq store.Seq, st state, by uint32) {
	l := q.lane(seq)
	if l == nil {
		return
	}
	switch st {
	case ready:
		l.ready += by
	case leased:
		l.leased += by
	case delayed:
		l.delayed += by
	case backoff:
		l.delayed += by
		l.backoff += by
	case dead:
		l.dead += by
	}
	q.arrange(q.lanes.index[l.key])
}

// arrange puts lane n where it belongs after a change: in or out of the heap of those that may be served.
func (q *Queue) arrange(n uint32) {
	ls := q.lanes
	l := &ls.list[n]
	if l.empty() || !grouped(&q.settings) {
		return // it is about to be forgotten; or there are so few levels that all are looked at
	}
	may := l.ready > 0 && !q.locked(n) && (q.settings.GroupInFlight == 0 || l.leased < q.settings.GroupInFlight)
	if may && q.settings.GroupInterval > 0 {
		if at := allowed(ls.clocks[n], q.settings.GroupInterval); at > q.now {
			ls.wait(n, at)
			may = false
		} else {
			delete(ls.spent, n)
		}
	} else {
		delete(ls.spent, n)
	}
	switch {
	case may && l.pos == 0:
		ls.active = append(ls.active, n)
		l.pos = int32(len(ls.active))
		q.up(len(ls.active) - 1)
	case may:
		q.fix(int(l.pos) - 1)
	case l.pos > 0:
		q.retire(l)
	}
}

// rearrange arranges all lanes after something that concerns all has changed.
func (q *Queue) rearrange() {
	ls := q.lanes
	ls.active, ls.spent, ls.agenda = nil, nil, nil
	for i := range ls.list {
		ls.list[i].pos = 0
	}
	for _, n := range ls.index {
		q.arrange(n)
	}
}

// wait notes that lane n could be served but for its rate, until a moment.
func (ls *lanes) wait(n uint32, until Millis) {
	if ls.spent[n] == until {
		return
	}
	if ls.spent == nil {
		ls.spent = make(map[uint32]Millis)
	}
	ls.spent[n] = until
	ls.agenda.add(until, uint64(n))
}

// relief is when the next lane may be served that waits for its rate; false when there is none.
func (ls *lanes) relief() (Millis, bool) {
	for len(ls.agenda) > 0 {
		if e := ls.agenda[0]; ls.spent[uint32(e.id)] == e.at {
			return e.at, true
		}
		ls.agenda.take()
	}
	return 0, false
}

// relieve lets go of lanes whose rate allows a delivery again.
func (q *Queue) relieve(now Millis) {
	ls := q.lanes
	if ls == nil {
		return
	}
	for {
		at, waits := ls.relief()
		if !waits || at > now {
			return
		}
		n := uint32(ls.agenda.take().id)
		delete(ls.spent, n)
		q.arrange(n)
	}
}

// quit forgets the lane of a message that left the queue, if it was the last one.
func (q *Queue) quit(key uint32) {
	ls := q.lanes
	n := ls.index[key]
	l := &ls.list[n]
	if !l.empty() {
		return
	}
	if l.pos > 0 {
		q.retire(l)
	}
	delete(ls.index, key)
	delete(ls.spent, n)
	delete(ls.clocks, n)
	delete(ls.inOrder, n)
	ls.list[n] = lane{}
	ls.free = append(ls.free, n)
	if len(ls.index) == 0 {
		turns := ls.turns
		*ls = *newLanes()
		ls.turns = turns
	}
}

// locked says whether a FIFO group waits for one of its messages: with Tail, only if none is ready before it.
func (q *Queue) locked(n uint32) bool {
	l := &q.lanes.list[n]
	if q.settings.Mode != store.FIFO || l.leased+l.backoff == 0 {
		return false
	}
	return !q.settings.Tail || l.ready == 0 || q.first(l) > q.blocker(n).seq
}

// before is the order in which lanes are served.
func (q *Queue) before(a, b *lane) bool {
	if q.settings.Mode != store.FIFO && a.leased != b.leased {
		return a.leased < b.leased
	}
	return a.turn < b.turn
}

func (q *Queue) laneAt(i int) *lane { return &q.lanes.list[q.lanes.active[i]] }

func (q *Queue) swapLanes(i, j int) {
	a := q.lanes.active
	a[i], a[j] = a[j], a[i]
	q.laneAt(i).pos, q.laneAt(j).pos = int32(i)+1, int32(j)+1
}

func (q *Queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.before(q.laneAt(i), q.laneAt(parent)) {
			return
		}
		q.swapLanes(i, parent)
		i = parent
	}
}

func (q *Queue) down(i int) {
	for n := len(q.lanes.active); ; {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && q.before(q.laneAt(child+1), q.laneAt(child)) {
			child++
		}
		if !q.before(q.laneAt(child), q.laneAt(i)) {
			return
		}
		q.swapLanes(i, child)
		i = child
	}
}

func (q *Queue) fix(i int) {
	q.up(i)
	q.down(i)
}

// retire takes a lane out of the heap.
func (q *Queue) retire(l *lane) {
	ls, i := q.lanes, int(l.pos)-1
	last := len(ls.active) - 1
	q.swapLanes(i, last)
	ls.active = ls.active[:last]
	l.pos = 0
	if i < last {
		q.fix(i)
	}
}

// served notes that a message of lane n was delivered.
func (q *Queue) served(now Millis, n uint32) {
	ls := q.lanes
	ls.turns++
	ls.list[n].turn = ls.turns
	if every := q.settings.GroupInterval; every > 0 {
		if ls.clocks == nil {
			ls.clocks = make(map[uint32]int64)
		}
		ls.clocks[n] = tickRate(ls.clocks[n], now, every)
	}
	q.arrange(n)
}

// tickRate moves what a rate counts on by one delivery; it stops at the end of what it can count, the year 2262.
func tickRate(clock int64, now Millis, every time.Duration) int64 {
	from := max(clock, int64(now)*int64(time.Millisecond))
	return from + min(int64(every), math.MaxInt64-from)
}

// allowed is when the rate allows the next delivery.
func allowed(clock int64, every time.Duration) Millis {
	ahead := max(int64(time.Second)-int64(every), 0)
	ns := clock - ahead
	ms := ns / int64(time.Millisecond)
	if ns > 0 && ns%int64(time.Millisecond) != 0 {
		ms++
	}
	return Millis(ms)
}

// lastInOrder is the latest due time of the messages of a group that were sent InOrder.
func (q *Queue) lastInOrder(group string) Millis {
	id, known := q.names.id(group)
	if q.lanes == nil || !known {
		return 0
	}
	if n, ok := q.lanes.index[id]; ok {
		return q.lanes.inOrder[n]
	}
	return 0
}

func (q *Queue) noteInOrder(key uint32, due Millis) {
	ls := q.lanes
	n := ls.index[key]
	if due <= ls.inOrder[n] {
		return
	}
	if ls.inOrder == nil {
		ls.inOrder = make(map[uint32]Millis)
	}
	ls.inOrder[n] = due
}

// first is the ready message that a lane gives next.
func (q *Queue) first(l *lane) store.Seq {
	for l.head != 0 && q.cols.kind(l.head) != fresh {
		l.pop()
	}
	if l.more == nil || len(l.more.back) == 0 {
		return l.head
	}
	s := &q.slots.slab[l.more.back[0]]
	if l.head == 0 || q.settings.Mode == store.FIFO && s.seq < l.head {
		return s.seq
	}
	if q.settings.Mode != store.FIFO {
		if avail := q.cols.avail(l.head); s.avail < avail || s.avail == avail && s.seq < l.head {
			return s.seq
		}
	}
	return l.head
}
