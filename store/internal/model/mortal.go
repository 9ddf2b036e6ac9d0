package model

import "github.com/dabba-mq/dabba/store"

// endanger notes when the time to live of a message ends, if it has one and may end now.
func (q *Queue) endanger(seq store.Seq) {
	if q.mortals == 0 {
		return
	}
	if at := q.cols.expires(seq); at > 0 {
		q.mortal.add(at, uint64(seq))
	}
}

// may says whether the time to live of a message may end: it is there, ready or delayed.
func (q *Queue) may(seq store.Seq) bool {
	if n, touched := q.slots.find(seq); touched {
		st := q.slots.slab[n].state
		return st != leased && st != dead
	}
	return q.cols.kind(seq) != none
}

// firstMortal is when the next time to live ends.
func (q *Queue) firstMortal() (Millis, bool) {
	for len(q.mortal) > 0 {
		if e := q.mortal[0]; q.may(store.Seq(e.id)) {
			return e.at, true
		}
		q.mortal.take()
	}
	return 0, false
}

// lapsed is a message whose time to live has ended; 0 when there is none.
func (q *Queue) lapsed(now Millis) store.Seq {
	if at, ok := q.firstMortal(); ok && at <= now {
		return store.Seq(q.mortal[0].id)
	}
	return 0
}

// lapsedReason is why messages are dead whose time to live has ended.
const lapsedReason = "expired"

// lapse makes a message dead.
func (q *Queue) lapse(seq store.Seq) {
	n := q.touch(seq)
	s := &q.slots.slab[n]
	held := q.texts.hold(lapsedReason)
	q.texts.release(s.reason)
	s.reason = held
	q.setDead(n)
}

// late says what becomes of a ready message that a claim meets: it is gone past its retention, and gone or dead past its
// time to live.
func (q *Queue) late(now Millis, seq store.Seq, avail int64) (gone, lapsed bool) {
	if q.settings.Retention > 0 && q.expiry(avail) <= now {
		return true, false
	}
	if q.mortals > 0 {
		if at := q.cols.expires(seq); at > 0 && at <= now {
			return !q.settings.ExpiredDead, q.settings.ExpiredDead
		}
	}
	return false, false
}
