package model

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Lease is what a claim says of one message, beside what the message itself says.
type Lease struct {
	Seq      store.Seq
	Entered  uint32
	Avail    Millis
	Group    string
	Priority uint8
	Expires  Millis
}

// Claim leases up to p.Max ready messages in the order of the queue's mode, and returns the event and a lease for each of
// its Seqs. It returns false when nothing changed.
func (q *Queue) Claim(now Millis, p store.ClaimParams) (ev Claimed, leases []Lease, changed bool) {
	q.advance(now)
	ev = Claimed{At: now, Deadline: after(now, p.Visibility)}
	if a, ok := q.attempts.find(p.Attempt, now); ok {
		switch {
		case q.holds(a):
			ev.Token, ev.Seqs, ev.Repeated, ev.Returned = a.token, a.seqs, true, true
			q.ApplyClaimed(ev)
			return ev, q.leasesOf(ev.Seqs), true
		case p.FirstOnly && q.spent(a):
			ev.Spent = true
			return ev, nil, false
		}
	}
	ev.Token, ev.Consumer = q.token+1, p.Consumer
	c := claiming{queue: q, now: now}
	var bytes int64
	for len(ev.Seqs) < p.Max && ev.removed() < sweepLimit {
		seq, ok := c.next()
		if !ok {
			break
		}
		n, touched := q.slots.find(seq)
		if q.withdraw(now, seq, touched && q.usedUp(&q.slots.slab[n]), &ev) {
			continue
		}
		size := int64(q.Size(seq))
		if len(ev.Seqs) > 0 && bytes+size > p.MaxBytes {
			break
		}
		bytes += size
		q.lease(now, seq, ev.Token, ev.Deadline, p.Consumer)
		ev.Seqs = append(ev.Seqs, seq)
		ev.Returned = ev.Returned || touched
	}
	if len(ev.Seqs) > 0 && p.Attempt != (attemptKey{}) {
		ev.Attempt, ev.AttemptEnds = p.Attempt, after(now, p.AttemptWindow)
	}
	q.noteToken(ev)
	return ev, q.leasesOf(ev.Seqs), len(ev.Seqs)+ev.removed() > 0
}

// withdraw takes a ready message that is too late or used up out of the claim that met it; false if it may be delivered.
func (q *Queue) withdraw(now Millis, seq store.Seq, usedUp bool, ev *Claimed) bool {
	gone, lapsed := q.late(now, seq, q.availOf(seq))
	switch {
	case gone:
		q.erase(now, seq, store.Aged)
		ev.Expired = append(ev.Expired, seq)
	case lapsed:
		q.lapse(seq)
		ev.Lapsed = append(ev.Lapsed, seq)
	case usedUp:
		q.setDead(q.touch(seq))
		ev.Died = append(ev.Died, seq)
	default:
		return false
	}
	return true
}

func (ev *Claimed) removed() int { return len(ev.Died) + len(ev.Expired) + len(ev.Lapsed) }

// leasesOf describes messages that were just leased.
func (q *Queue) leasesOf(seqs []store.Seq) []Lease {
	if len(seqs) == 0 {
		return nil
	}
	list := make([]Lease, len(seqs))
	for i, seq := range seqs {
		s := &q.slots.slab[q.mustFind(seq)]
		list[i] = Lease{Seq: seq, Entered: s.entered, Avail: Millis(s.avail * tickMillis), Expires: q.cols.expires(seq)}
		list[i].Group, list[i].Priority = q.names.get(q.cols.group(seq)), q.cols.priority(seq)
	}
	return list
}

// ApplyClaimed repeats a Claim.
func (q *Queue) ApplyClaimed(ev Claimed) {
	q.advance(ev.At)
	if ev.Repeated {
		for _, seq := range ev.Seqs {
			n := q.mustFind(seq)
			q.leave(n)
			q.setLeased(n, ev.Deadline)
		}
		return
	}
	for _, seq := range ev.Expired {
		q.erase(ev.At, seq, store.Aged)
	}
	for _, seq := range ev.Lapsed {
		q.lapse(seq)
	}
	for _, seq := range ev.Died {
		q.setDead(q.touch(seq))
	}
	for _, seq := range ev.Seqs {
		q.lease(ev.At, seq, ev.Token, ev.Deadline, ev.Consumer)
	}
	q.noteToken(ev)
}

// noteToken remembers the token of a claim that leased something, and what its attempt gave.
func (q *Queue) noteToken(ev Claimed) {
	if len(ev.Seqs) == 0 {
		return
	}
	q.token = ev.Token
	if ev.Attempt != (attemptKey{}) {
		q.attempts.add(ev)
	}
}

// Claimable says whether more messages can be claimed now. Call it on an advanced state.
func (q *Queue) Claimable() bool {
	return q.offers() && !q.full() && (q.settings.Interval <= 0 || allowed(q.clock, q.settings.Interval) <= q.now)
}

// full says whether the queue has as many leases as it may.
func (q *Queue) full() bool {
	return q.settings.MaxInFlight > 0 && q.leases.len() >= int64(q.settings.MaxInFlight)
}

// offers says whether there is a message to choose, limits of the whole queue apart.
func (q *Queue) offers() bool {
	if grouped(&q.settings) {
		return len(q.lanes.active) > 0
	}
	return q.ready() > 0
}

// claiming is one claim under way.
type claiming struct {
	queue *Queue
	now   Millis
	// group is the key of the lane of a FIFO queue that gives more messages to the same claim, although it is locked by it.
	// With Tail it gives those before limit, the first that others hold; 0 for no limit.
	group   uint32
	limit   store.Seq
	serving bool
}

// next is the message to be given next.
func (c *claiming) next() (store.Seq, bool) {
	q := c.queue
	if q.full() || q.settings.Interval > 0 && allowed(q.clock, q.settings.Interval) > c.now {
		return 0, false
	}
	switch {
	case q.lanes == nil:
		seq, _, ok := q.eldest()
		return seq, ok
	case !grouped(&q.settings):
		return q.highest(c.now)
	}
	if n, ok := c.goesOn(); ok {
		return q.first(&q.lanes.list[n]), true
	}
	if len(q.lanes.active) == 0 {
		return 0, false
	}
	l := q.laneAt(0)
	c.group, c.limit, c.serving = l.key, 0, q.settings.Mode == store.FIFO
	if s := q.blocker(q.lanes.active[0]); s != nil {
		c.limit = s.seq
	}
	return q.first(l), true
}

// goesOn is the lane being served, if it may give another message.
func (c *claiming) goesOn() (uint32, bool) {
	if !c.serving {
		return 0, false
	}
	q := c.queue
	n, there := q.lanes.index[c.group]
	if !there {
		return 0, false
	}
	l := &q.lanes.list[n]
	if l.ready == 0 || q.settings.GroupInFlight > 0 && l.leased >= q.settings.GroupInFlight {
		return 0, false
	}
	if c.limit > 0 && q.first(l) > c.limit {
		return 0, false
	}
	return n, q.settings.GroupInterval <= 0 || allowed(q.lanes.clocks[n], q.settings.GroupInterval) <= c.now
}

// highest is the ready message with the highest level, raised by its age, then the oldest.
func (q *Queue) highest(now Millis) (best store.Seq, ok bool) {
	var top, bestAvail int64
	for _, n := range q.lanes.index {
		l := &q.lanes.list[n]
		if l.ready == 0 {
			continue
		}
		seq := q.first(l)
		avail := q.availOf(seq)
		level := int64(l.key)
		if q.settings.Ageing > 0 {
			level = min(level+int64(age(now, avail)/max(q.settings.Ageing, time.Millisecond)), int64(q.settings.Levels)-1)
		}
		if !ok || level > top || level == top && (avail < bestAvail || avail == bestAvail && seq < best) {
			best, top, bestAvail, ok = seq, level, avail, true
		}
	}
	return best, ok
}

func (q *Queue) mustFind(seq store.Seq) uint32 {
	n, ok := q.slots.find(seq)
	if !ok {
		panic("model: no such touched message")
	}
	return n
}
