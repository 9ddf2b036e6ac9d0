package model

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

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
	s, was := slot{seq: seq}, ready
	switch q.cols.kind(seq) {
	case none:
		panic(fmt.Sprintf("model: queue %d has no message %d", q.id, seq))
	case planned:
		was = delayed
		if q.cols.byWall(seq) {
			q.byWall.planned--
		}
	case fresh, ripe:
		s.avail = q.cols.avail(seq)
	}
	q.cols.move(seq, none) // first: its lane gives it no more
	q.exit(seq, was)
	return q.slots.add(s)
}

// leave takes slot n out of its state.
func (q *Queue) leave(n uint32) {
	s := &q.slots.slab[n]
	switch s.state {
	case delayed:
		q.delays.take(n)
		delete(q.byWall.until, s.seq)
	case backoff:
		q.delays.take(n)
		q.release(n)
	case leased:
		q.leasedBytes -= int64(q.Size(s.seq))
		q.leases.take(n)
		q.release(n)
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
	if st == backoff {
		q.hold(n)
	}
	q.enter(s.seq, st)
	q.noteExpiry(s.seq)
}

// setLeased makes slot n, which is in no state, leased until due.
func (q *Queue) setLeased(n uint32, due Millis) {
	s := &q.slots.slab[n]
	s.state, s.due = leased, q.within(s, due)
	q.leasedBytes += int64(q.Size(s.seq))
	q.leases.add(n)
	q.hold(n)
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
func (q *Queue) lease(now Millis, seq store.Seq, token store.Token, deadline Millis, consumer string) {
	n := q.touch(seq)
	s := &q.slots.slab[n]
	s.token, s.since = token, now
	s.entered++
	q.texts.replace(&s.consumer, consumer)
	q.setLeased(n, deadline)
	if every := q.settings.Interval; every > 0 {
		q.clock = tickRate(q.clock, now, every)
	}
	if q.lanes != nil {
		q.served(now, q.lanes.index[q.key(seq)])
	}
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
		q.byWall.walls, q.byWall.until = nil, nil
		return
	}
	q.tidyByWall()
	q.planned.tidy(q.cols.count(planned)-q.byWall.planned, func(seq store.Seq) bool { return q.cols.kind(seq) == planned })
	q.ripes.tidy(q.cols.count(ripe), func(seq store.Seq) bool { return q.cols.kind(seq) == ripe })
	q.expiring.tidy(q.withTTL, q.mayLapse)
}

// add appends a message under the next sequence.
func (q *Queue) add(now Millis, m Meta) {
	seq := q.next
	q.next++
	due, byWall := now+m.Delay, m.NotBefore > 0 && q.dueByWall(m.NotBefore) > now
	if byWall {
		due = m.NotBefore
	}
	f := facts{
		size: m.Size, avail: tick(due), group: q.names.hold(m.Group), priority: m.Priority, expires: m.Expires, alias: m.Alias,
	}
	if m.TTL > 0 {
		f.expires = now + m.TTL
	}
	k, st := fresh, ready
	switch {
	case byWall:
		k, st, f.part = planned, delayed, uint8(int64(due)%tickMillis)|partByWall
		q.byWall.walls.add(due, uint64(seq))
		q.byWall.planned++
	case m.Delay > 0:
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
