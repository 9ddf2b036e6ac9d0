package model

import "github.com/dabba-mq/dabba/store"

// maxVisits is how many ended deliveries are remembered of one message.
const maxVisits = 15

// visit is one delivery that ended.
type visit struct {
	from, to         Millis
	consumer, reason uint32 // texts
	before           uint32 // the visit before it
	n                uint8  // how many there are up to this one
	end              store.End
}

// visits is a slab of them, numbered from 1. Freed places are used again.
type visits struct {
	list []visit
	free []uint32
}

func (v *visits) at(n uint32) *visit { return &v.list[n-1] }

func (v *visits) add(entry visit) uint32 {
	if n := len(v.free); n > 0 {
		i := v.free[n-1]
		v.free = v.free[:n-1]
		*v.at(i) = entry
		return i
	}
	v.list = append(v.list, entry)
	return uint32(len(v.list))
}

func (v *visits) release(n uint32) {
	*v.at(n) = visit{}
	v.free = append(v.free, n)
	if len(v.free) == len(v.list) {
		*v = visits{}
	}
}

// leaveVisit notes how the delivery of slot n ended.
func (q *Queue) leaveVisit(n uint32, to Millis, end store.End, reason string) {
	s := &q.slots.slab[n]
	entry := visit{
		from: s.since, to: to, end: end, before: s.visits, n: 1,
		consumer: q.texts.hold(q.texts.get(s.consumer)), reason: q.texts.hold(reason),
	}
	if s.visits != 0 {
		entry.n = q.visits.at(s.visits).n + 1
	}
	s.visits = q.visits.add(entry)
	if entry.n > maxVisits {
		q.dropOldestVisit(s.visits)
	}
}

func (q *Queue) dropOldestVisit(newest uint32) {
	after := newest
	for n := newest; ; n = q.visits.at(n).before {
		v := q.visits.at(n)
		v.n--
		if v.n == 0 {
			q.visits.at(after).before = 0
			q.releaseVisit(n)
			return
		}
		after = n
	}
}

func (q *Queue) releaseVisit(n uint32) {
	v := q.visits.at(n)
	q.texts.release(v.consumer)
	q.texts.release(v.reason)
	q.visits.release(n)
}

func (q *Queue) releaseVisits(newest uint32) {
	for n := newest; n != 0; {
		before := q.visits.at(n).before
		q.releaseVisit(n)
		n = before
	}
}

// visitsOf lists them, the oldest first.
func (q *Queue) visitsOf(newest uint32) []store.Visit {
	if newest == 0 {
		return nil
	}
	list := make([]store.Visit, q.visits.at(newest).n)
	for n := newest; n != 0; n = q.visits.at(n).before {
		v := q.visits.at(n)
		list[v.n-1] = store.Visit{
			LeasedAt: Time(v.from), EndedAt: Time(v.to), Consumer: q.texts.get(v.consumer),
			End: v.end, Reason: q.texts.get(v.reason),
		}
	}
	return list
}
