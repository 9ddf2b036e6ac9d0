package model

import (
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const tickMillis = int64(store.Tick / time.Millisecond)

// movedSpans bounds what is remembered of messages that were moved away.
const movedSpans = 1 << 16

// sweepLimit bounds what one call removes or marks beside what it was asked for.
const sweepLimit = 1000

// Queue is the state of one queue. It is not safe for concurrent use: its owner holds a lock around each call.
type Queue struct {
	id       store.QueueID
	settings store.Settings
	now      Millis      // the latest instant it was advanced to
	next     store.Seq   // of the next message
	token    store.Token // the last one given out
	clock    int64       // what the queue's rate counts, in nanoseconds of queue time
	cols     columns
	planned  agenda // when messages of kind planned become ready
	ripes    agenda // messages of kind ripe by tick; some may not be any more
	slots    slots
	delays   order // delayed and backing off slots, by due time
	leases   order // leased slots, by due time
	back     order // ready slots, by age
	dead     order // by age
	lanes    *lanes
	// expiring says when the time to live of messages ends: of those that are ready or delayed, and perhaps of some that were.
	// withTTL counts the messages that have one.
	expiring agenda
	withTTL  int64

	leasedBytes, deadBytes int64 // sums of the sizes of messages in these states

	names    texts // of groups
	texts    texts // consumers and reasons
	visits   visits
	once     onceTable
	dedup    dedup
	attempts attempts
	// movedAway are messages that went to another queue: an ack of one must not look like success. Of very many the lowest
	// are forgotten.
	movedAway ranges
	departed  []departed

	// Erased, if set, is called for each message that leaves the queue, with its size; Cleared instead when all leave
	// at once.
	Erased  func(seq store.Seq, size uint32)
	Cleared func()
}

// NewQueue returns the queue that a Configured event creates.
func NewQueue(id store.QueueID) *Queue {
	q := &Queue{id: id, next: 1}
	q.delays = order{slots: &q.slots, less: byDue}
	q.leases = order{slots: &q.slots, less: byDue}
	q.back = order{slots: &q.slots, less: byAge}
	q.dead = order{slots: &q.slots, less: byAge}
	return q
}

// ID is the queue's generation.
func (q *Queue) ID() store.QueueID { return q.id }

// Next is the sequence the next message will have.
func (q *Queue) Next() store.Seq { return q.next }

// Revision is that of the present settings; 0 means that there are none yet.
func (q *Queue) Revision() uint64 { return q.settings.Revision }

// FIFO says that the queue keeps the order of its groups: then a lease must be durable before it is shown.
func (q *Queue) FIFO() bool { return q.settings.Mode == store.FIFO }

// Check refuses a call that was resolved against another revision of the settings.
func (q *Queue) Check(revision uint64) error {
	if revision != q.settings.Revision {
		return fmt.Errorf("revision %d, have %d: %w", revision, q.settings.Revision, store.ErrStaleConfig)
	}
	return nil
}

// Configure returns the event that replaces the settings, or false when they are not newer.
func (q *Queue) Configure(now Millis, s store.Settings) (Configured, bool) {
	if s.Revision <= q.settings.Revision {
		return Configured{}, false
	}
	ev := Configured{At: now, Created: q.settings.Revision == 0, Settings: s}
	q.ApplyConfigured(ev)
	return ev, true
}

// ApplyConfigured repeats a Configure.
func (q *Queue) ApplyConfigured(ev Configured) {
	q.advance(ev.At) // what ended before now ended under the old settings
	was := q.settings
	q.settings = ev.Settings
	if n := len(q.departed) - int(q.settings.History); n > 0 {
		q.departed = append([]departed(nil), q.departed[n:]...)
	}
	switch {
	case laned(&was) != laned(&q.settings), grouped(&was) != grouped(&q.settings),
		!grouped(&was) && was.Levels != q.settings.Levels:
		q.layLanes()
	case q.lanes != nil:
		q.rearrange()
	}
}

// ApplyRestarted makes sure that no token is given out twice although the leases of the last moments before a crash
// may be forgotten: far fewer than 2^24 claims can be waiting for the disk.
func (q *Queue) ApplyRestarted(ev Restarted) {
	q.advance(ev.At)
	q.token += 1 << 24
}

// advance carries out what time has made due by now: delays, leases, rates and windows that ended.
func (q *Queue) advance(now Millis) {
	q.now = max(q.now, now)
	q.once.expire(now)
	q.dedup.expire(now)
	q.attempts.expire(now)
	for {
		n, ends := q.nextEnd()
		if !ends || q.slots.slab[n].due > now {
			break
		}
		s := &q.slots.slab[n]
		due := s.due
		if s.state == leased {
			q.leaveVisit(n, due, store.RanOut, "")
			if q.usedUp(s) && !q.settings.Lazy {
				q.leave(n)
				q.setDead(n)
				continue
			}
		}
		q.leave(n)
		q.setReady(n, due)
	}
	for len(q.planned) > 0 && q.planned[0].at <= now {
		e := q.planned.take()
		if seq := store.Seq(e.id); q.cols.kind(seq) == planned {
			q.ripen(seq, e.at)
		}
	}
	q.relieve(now)
}

// nextEnd is the slot whose delay or lease ends first.
func (q *Queue) nextEnd() (n uint32, ok bool) {
	switch {
	case q.delays.empty() && q.leases.empty():
		return 0, false
	case q.leases.empty() || !q.delays.empty() && byDue(q.delays.top(), q.leases.top()):
		return q.delays.items[0], true
	}
	return q.leases.items[0], true
}

// ripen makes a planned message ready as of its due time.
func (q *Queue) ripen(seq store.Seq, due Millis) {
	if q.lanes == nil {
		q.cols.move(seq, ripe)
		q.ripes.add(Millis(tick(due)), uint64(seq))
		return
	}
	q.setReady(q.touch(seq), due)
}

// usedUp says whether a message had all the deliveries it may have here.
func (q *Queue) usedUp(s *slot) bool {
	return q.settings.MaxReceives > 0 && s.entered >= q.settings.MaxReceives
}

// touch takes a message out of the state it is in and returns its slot, which is in no state until one is set.
func (q *Queue) touch(seq store.Seq) uint32 {
	if n, touched := q.slots.find(seq); touched {
		q.leave(n)
		return n
	}
	s := slot{seq: seq}
	switch q.cols.kind(seq) {
	case none:
		panic(fmt.Sprintf("model: queue %d has no message %d", q.id, seq))
	case planned:
		q.exit(seq, delayed)
	case fresh, ripe:
		q.exit(seq, ready)
		s.avail = q.cols.avail(seq)
	}
	q.cols.move(seq, none)
	return q.slots.add(s)
}

// leave takes slot n out of its state.
func (q *Queue) leave(n uint32) {
	s := &q.slots.slab[n]
	switch s.state {
	case delayed, backoff:
		q.delays.take(n)
	case leased:
		q.leasedBytes -= int64(q.Size(s.seq))
		q.leases.take(n)
	case ready:
		q.back.take(n)
		if l := q.lane(s.seq); l != nil {
			q.dropBack(l, n)
		}
	case dead:
		q.deadBytes -= int64(q.Size(s.seq))
		q.dead.take(n)
	}
	was := s.state
	s.state, s.due = 0, 0
	if was != 0 {
		q.exit(s.seq, was)
	}
}

// setReady makes slot n, which is in no state, ready as of the given time.
func (q *Queue) setReady(n uint32, at Millis) {
	s := &q.slots.slab[n]
	if s.avail == 0 {
		s.avail = tick(at)
	}
	s.state = ready
	q.back.add(n)
	if l := q.lane(s.seq); l != nil {
		q.keepBack(l, n)
	}
	q.enter(s.seq, ready)
	q.noteExpiry(s.seq)
}

// setDelayed makes slot n, which is in no state, delayed or backing off until due.
func (q *Queue) setDelayed(n uint32, st state, due Millis) {
	s := &q.slots.slab[n]
	s.state, s.due = st, q.within(s, due)
	q.delays.add(n)
	q.enter(s.seq, st)
	q.noteExpiry(s.seq)
}

// setLeased makes slot n, which is in no state, leased until due.
func (q *Queue) setLeased(n uint32, due Millis) {
	s := &q.slots.slab[n]
	s.state, s.due = leased, q.within(s, due)
	q.leasedBytes += int64(q.Size(s.seq))
	q.leases.add(n)
	q.enter(s.seq, leased)
}

// setDead makes slot n, which is in no state, dead.
func (q *Queue) setDead(n uint32) {
	s := &q.slots.slab[n]
	if s.avail == 0 {
		s.avail = tick(q.now)
	}
	s.state = dead
	q.deadBytes += int64(q.Size(s.seq))
	q.dead.add(n)
	q.enter(s.seq, dead)
}

// within cuts a lease or delay off where the retention of the message ends.
func (q *Queue) within(s *slot, due Millis) Millis {
	if q.settings.Retention > 0 && s.avail > 0 {
		return min(due, q.expiry(s.avail))
	}
	return due
}

// lease hands out a ready message.
func (q *Queue) lease(now Millis, seq store.Seq, token store.Token, deadline Millis, consumer string) *slot {
	n := q.touch(seq)
	s := &q.slots.slab[n]
	s.token, s.since = token, now
	s.entered++
	held := q.texts.hold(consumer)
	q.texts.release(s.consumer)
	s.consumer = held
	q.setLeased(n, deadline)
	if every := q.settings.Interval; every > 0 {
		q.clock = tickRate(q.clock, now, every)
	}
	if q.lanes != nil {
		q.served(now, q.lanes.index[q.key(seq)])
	}
	return &q.slots.slab[n]
}

// erase removes a message in any state.
func (q *Queue) erase(now Millis, seq store.Seq, how store.Removal) {
	n := q.touch(seq)
	q.noteDeparture(now, n, how)
	s := &q.slots.slab[n]
	q.texts.release(s.reason)
	q.texts.release(s.consumer)
	q.releaseVisits(s.visits)
	q.slots.remove(n)
	if q.lanes != nil {
		q.quit(q.key(seq))
	}
	q.names.release(q.cols.group(seq))
	if q.cols.expires(seq) > 0 {
		q.withTTL--
	}
	size := q.Size(seq)
	q.cols.remove(seq)
	if q.Erased != nil {
		q.Erased(seq, size)
	}
	q.tidy()
}

// tidy lets go of what became void.
func (q *Queue) tidy() {
	if q.Len() == 0 {
		q.cols.clear()
		q.planned, q.ripes, q.expiring = nil, nil, nil
		return
	}
	q.planned.tidy(q.cols.count(planned), func(seq store.Seq) bool { return q.cols.kind(seq) == planned })
	q.ripes.tidy(q.cols.count(ripe), func(seq store.Seq) bool { return q.cols.kind(seq) == ripe })
	q.expiring.tidy(q.withTTL, q.mayLapse)
}

// add appends a message under the next sequence.
func (q *Queue) add(now Millis, m Meta) {
	seq := q.next
	q.next++
	due := now + m.Delay
	f := facts{
		size: m.Size, avail: tick(due), group: q.names.hold(m.Group), priority: m.Priority, expires: m.Expires, alias: m.Alias,
	}
	if m.TTL > 0 {
		f.expires = now + m.TTL
	}
	k, st := fresh, ready
	if m.Delay > 0 {
		k, st, f.part = planned, delayed, uint8(int64(due)%tickMillis)
		q.planned.add(due, uint64(seq))
	}
	q.cols.append(seq, f, k)
	if q.lanes != nil {
		q.joinLane(seq, k)
		q.enter(seq, st)
		if m.InOrder {
			q.noteInOrder(q.key(seq), due)
		}
	}
	if f.expires > 0 {
		q.withTTL++
		q.noteExpiry(seq)
	}
}

// joinLane puts a message that has no slot into its lane.
func (q *Queue) joinLane(seq store.Seq, k kind) {
	if l := q.lanes.join(q.key(seq)); k == fresh {
		l.append(seq)
	}
}

// layLanes arranges all messages anew after the settings have changed what the lanes are.
func (q *Queue) layLanes() {
	q.lanes = nil
	if !laned(&q.settings) {
		return
	}
	for _, e := range q.ripes {
		if seq := store.Seq(e.id); q.cols.kind(seq) == ripe {
			q.setReady(q.touch(seq), 0)
		}
	}
	q.ripes = nil
	q.lanes = newLanes()
	for seq := range q.liveSeqs() {
		k := q.cols.kind(seq)
		q.joinLane(seq, k)
		switch k {
		case fresh:
			q.enter(seq, ready)
		case planned:
			q.enter(seq, delayed)
		case none, ripe:
			q.enterSlot(seq)
		}
	}
}

// enterSlot counts a touched message in its lane.
func (q *Queue) enterSlot(seq store.Seq) {
	n, _ := q.slots.find(seq)
	s := &q.slots.slab[n]
	if s.state == ready {
		q.keepBack(q.lane(seq), n)
	}
	q.enter(seq, s.state)
}

// Len counts all messages.
func (q *Queue) Len() int64 {
	return q.cols.count(fresh) + q.cols.count(planned) + q.cols.count(ripe) + int64(len(q.slots.index))
}

// Live says whether the message is still in the queue.
func (q *Queue) Live(seq store.Seq) bool {
	if _, touched := q.slots.find(seq); touched {
		return true
	}
	return q.cols.kind(seq) != none
}

// Size is what a live message counts in bytes.
func (q *Queue) Size(seq store.Seq) uint32 { return q.cols.size(seq) }

// Stats counts as of now.
func (q *Queue) Stats(now Millis) store.Stats {
	q.advance(now)
	return store.Stats{
		Ready:     q.ready(),
		Leased:    q.leases.len(),
		Delayed:   q.waiting(),
		Dead:      q.dead.len(),
		Bytes:     q.cols.bytes,
		OldestAge: q.oldestAge(now),
		Revision:  q.settings.Revision,
		NextDue:   q.NextDue(now),
	}
}

func (q *Queue) ready() int64   { return q.cols.count(fresh) + q.cols.count(ripe) + q.back.len() }
func (q *Queue) waiting() int64 { return q.cols.count(planned) + q.delays.len() }

// eldest is the ready message that first became available: its tick, and its slot if it has one.
func (q *Queue) eldest() (seq store.Seq, avail int64, ok bool) {
	older := func(s store.Seq, a int64) {
		if !ok || a < avail || a == avail && s < seq {
			seq, avail, ok = s, a, true
		}
	}
	if s := q.cols.firstFresh(); s != 0 {
		older(s, q.cols.avail(s))
	}
	if s := q.firstRipe(); s != 0 {
		older(s, q.cols.avail(s))
	}
	if !q.back.empty() {
		top := q.back.top()
		older(top.seq, top.avail)
	}
	return seq, avail, ok
}

// firstRipe is the oldest ripe message; 0 when there is none.
func (q *Queue) firstRipe() store.Seq {
	for len(q.ripes) > 0 {
		if seq := store.Seq(q.ripes[0].id); q.cols.kind(seq) == ripe {
			return seq
		}
		q.ripes.take()
	}
	return 0
}

func (q *Queue) oldestAge(now Millis) time.Duration {
	_, avail, ok := q.eldest()
	if !ok {
		return -1
	}
	return age(now, avail)
}

func age(now Millis, avail int64) time.Duration {
	return spanOf(now - Millis(avail*tickMillis))
}

// NextDue is how long from now until time alone changes the queue.
func (q *Queue) NextDue(now Millis) time.Duration {
	q.advance(now)
	due := Millis(-1)
	sooner := func(at Millis) {
		if due < 0 || at < due {
			due = at
		}
	}
	if n, ends := q.nextEnd(); ends {
		sooner(q.slots.slab[n].due)
	}
	if at, ok := q.firstPlanned(); ok {
		sooner(at)
	}
	if at, ok := q.firstExpiry(); ok {
		sooner(at)
	}
	if q.settings.Retention > 0 {
		if _, avail, ok := q.eldest(); ok {
			sooner(q.expiry(avail))
		}
		if !q.dead.empty() {
			sooner(q.expiry(q.dead.top().avail))
		}
	}
	if q.settings.Interval > 0 && q.offers() && !q.full() {
		if at := allowed(q.clock, q.settings.Interval); at > now {
			sooner(at)
		}
	}
	if q.lanes != nil {
		if at, waits := q.lanes.relief(); waits {
			sooner(at)
		}
	}
	if due < 0 {
		return store.NoDue
	}
	return spanOf(due - now)
}

func (q *Queue) firstPlanned() (Millis, bool) {
	for len(q.planned) > 0 {
		if e := q.planned[0]; q.cols.kind(store.Seq(e.id)) == planned {
			return e.at, true
		}
		q.planned.take()
	}
	return 0, false
}

// expiry is when a message of that age passes retention: up to a tick late, never early.
func (q *Queue) expiry(avail int64) Millis {
	return Millis((avail+1)*tickMillis) + Millis(q.settings.Retention/time.Millisecond)
}

func tick(at Millis) int64 { return int64(at) / tickMillis }

// spanOf is a span of queue time as a duration; what is too long for one is cut off just below [store.NoDue].
func spanOf(ms Millis) time.Duration {
	const longest = store.NoDue - 1
	if ms > Millis(longest/time.Millisecond) {
		return longest
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// after is now plus a duration, rounded up to a millisecond, so that nothing becomes due early.
func after(now Millis, d time.Duration) Millis {
	if d <= 0 {
		return now
	}
	ms := Millis(d / time.Millisecond)
	if d%time.Millisecond != 0 {
		ms++
	}
	if now+ms < now {
		panic("model: a duration overflows queue time")
	}
	return now + ms
}
