package model

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

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
	q.ripenByWall(now)
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
	if at, ok := q.firstByWall(); ok {
		sooner(at)
	}
	if at, ok := q.firstExpiry(); ok {
		sooner(max(at, q.protected))
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

// expiry is when a message of that age passes retention: up to a tick late, never early, and not while that removes nothing.
func (q *Queue) expiry(avail int64) Millis {
	return max(Millis((avail+1)*tickMillis)+Millis(q.settings.Retention/time.Millisecond), q.protected)
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
