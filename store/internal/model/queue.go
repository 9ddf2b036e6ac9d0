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
	next     store.Seq   // of the next message
	token    store.Token // the last one given out
	cols     columns
	fresh    ranges // ready and never received
	slots    slots
	timed    order // delayed and leased, by due time
	back     order // ready again, by age
	dead     order // by age
	delayed  int64 // how many of timed are delayed
	once     onceTable
	texts    texts
	// moved are messages that went to another queue: an ack of one must not look like success. Of very many the lowest
	// are forgotten.
	moved ranges

	// Erased, if set, is called for each message that leaves the queue, with its size.
	Erased func(seq store.Seq, size uint32)
}

// NewQueue returns the queue that a Configured event creates.
func NewQueue(id store.QueueID) *Queue {
	q := &Queue{id: id, next: 1}
	q.timed = order{slots: &q.slots, less: byDue}
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
	q.settings = ev.Settings
}

// ApplyRestarted makes sure that no token is given out twice although the leases of the last moments before a crash
// may be forgotten: far fewer than 2^24 claims can be waiting for the disk.
func (q *Queue) ApplyRestarted(ev Restarted) {
	q.advance(ev.At)
	q.token += 1 << 24
}

// advance carries out what time has made due by now: delays, leases and idempotency windows that ended.
func (q *Queue) advance(now Millis) {
	q.once.expire(now)
	for !q.timed.empty() && q.timed.top().due <= now {
		n := q.timed.items[0]
		s := &q.slots.slab[n]
		switch {
		case s.state == delayed:
			q.offer(n, s.due)
		case q.usedUp(s) && !q.settings.Lazy:
			q.bury(n)
		default:
			q.offer(n, s.due)
		}
	}
}

// usedUp says whether a message had all the deliveries it may have here.
func (q *Queue) usedUp(s *slot) bool {
	return q.settings.MaxReceives > 0 && s.entered >= q.settings.MaxReceives
}

// leave takes slot n out of the heap of its state.
func (q *Queue) leave(n uint32) *slot {
	s := &q.slots.slab[n]
	switch s.state {
	case delayed:
		q.delayed--
		q.timed.take(n)
	case leased:
		q.timed.take(n)
		q.texts.release(s.consumer)
		s.consumer = 0
	case ready:
		q.back.take(n)
	case dead:
		q.dead.take(n)
	}
	return s
}

// offer makes slot n ready as of the given time.
func (q *Queue) offer(n uint32, at Millis) {
	s := q.leave(n)
	if s.avail == 0 {
		s.avail = tick(at)
	}
	s.state, s.due = ready, 0
	q.back.add(n)
}

// postpone makes slot n delayed until due.
func (q *Queue) postpone(n uint32, due Millis) {
	s := q.leave(n)
	s.state, s.due = delayed, due
	q.delayed++
	q.timed.add(n)
}

// bury makes slot n dead.
func (q *Queue) bury(n uint32) {
	s := q.leave(n)
	s.state, s.due = dead, 0
	q.dead.add(n)
}

// lease hands out seq, which is fresh or has a slot.
func (q *Queue) lease(seq store.Seq, token store.Token, deadline Millis, consumer string) *slot {
	n, touched := q.slots.find(seq)
	if touched {
		q.leave(n)
	} else {
		if !q.fresh.remove(seq) {
			panic(fmt.Sprintf("model: queue %d leases message %d, which is not here", q.id, seq))
		}
		_, avail := q.cols.get(seq)
		n = q.slots.add(slot{seq: seq, avail: avail})
	}
	s := &q.slots.slab[n]
	s.state, s.due, s.token = leased, deadline, token
	s.entered++
	s.consumer = q.texts.hold(consumer)
	q.timed.add(n)
	return s
}

// erase removes a message in any state.
func (q *Queue) erase(seq store.Seq) {
	if n, touched := q.slots.find(seq); touched {
		s := q.leave(n)
		q.texts.release(s.reason)
		q.slots.remove(n)
	} else if !q.fresh.remove(seq) {
		panic(fmt.Sprintf("model: queue %d removes message %d, which is not here", q.id, seq))
	}
	size := q.Size(seq)
	q.cols.remove(seq)
	if q.Erased != nil {
		q.Erased(seq, size)
	}
	if q.Len() == 0 {
		q.cols.clear()
	}
}

// add appends a message under the next sequence.
func (q *Queue) add(now Millis, m Meta) {
	seq := q.next
	q.next++
	q.cols.append(seq, m.Size, tick(now))
	if m.Due <= now {
		q.fresh.append(seq)
		return
	}
	n := q.slots.add(slot{seq: seq, due: m.Due, state: delayed})
	q.delayed++
	q.timed.add(n)
}

// Len counts all messages.
func (q *Queue) Len() int64 { return q.fresh.count + int64(len(q.slots.index)) }

// Live says whether the message is still in the queue.
func (q *Queue) Live(seq store.Seq) bool {
	if _, touched := q.slots.find(seq); touched {
		return true
	}
	return q.fresh.has(seq)
}

// Stats counts as of now.
func (q *Queue) Stats(now Millis) store.Stats {
	q.advance(now)
	return store.Stats{
		Ready:     q.ready(),
		Leased:    q.timed.len() - q.delayed,
		Delayed:   q.delayed,
		Dead:      q.dead.len(),
		Bytes:     q.cols.bytes,
		OldestAge: q.oldestAge(now),
		Revision:  q.settings.Revision,
		NextDue:   q.NextDue(now),
	}
}

func (q *Queue) ready() int64 { return q.fresh.count + q.back.len() }

// eldest is the tick of the ready message that is offered next, and whether it is a fresh one.
func (q *Queue) eldest() (avail int64, fresh, ok bool) {
	if !q.fresh.empty() {
		_, avail = q.cols.get(q.fresh.first())
		fresh, ok = true, true
	}
	if !q.back.empty() {
		top := q.back.top()
		if !ok || top.avail < avail || top.avail == avail && top.seq < q.fresh.first() {
			avail, fresh, ok = top.avail, false, true
		}
	}
	return avail, fresh, ok
}

func (q *Queue) oldestAge(now Millis) time.Duration {
	avail, _, ok := q.eldest()
	if !ok {
		return -1
	}
	return time.Duration(max(int64(now)-avail*tickMillis, 0)) * time.Millisecond
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
	if !q.timed.empty() {
		sooner(q.timed.top().due)
	}
	if q.settings.Retention > 0 {
		if avail, _, ok := q.eldest(); ok {
			sooner(q.expiry(avail))
		}
		if !q.dead.empty() {
			sooner(q.expiry(q.dead.top().avail))
		}
	}
	if due < 0 {
		return store.NoDue
	}
	return time.Duration(max(due-now, 0)) * time.Millisecond
}

// expiry is when a message of that age passes retention: up to a tick late, never early.
func (q *Queue) expiry(avail int64) Millis {
	return Millis((avail+1)*tickMillis) + Millis(q.settings.Retention/time.Millisecond)
}

func tick(at Millis) int64 { return int64(at) / tickMillis }

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
