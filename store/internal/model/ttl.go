package model

import "github.com/dabba-mq/dabba/store"

// noteExpiry notes when the time to live of a message ends, if it has one and may end now.
func (q *Queue) noteExpiry(seq store.Seq) {
	if q.withTTL == 0 {
		return
	}
	if at := q.cols.expires(seq); at > 0 {
		q.expiring.add(at, uint64(seq))
	}
}

// mayLapse says whether the time to live of a message may end: it is there, ready or delayed.
func (q *Queue) mayLapse(seq store.Seq) bool {
	if n, touched := q.slots.find(seq); touched {
		st := q.slots.slab[n].state
		return st != leased && st != dead
	}
	return q.cols.kind(seq) != none
}

// firstExpiry is when the next time to live ends.
func (q *Queue) firstExpiry() (Millis, bool) {
	for len(q.expiring) > 0 {
		if e := q.expiring[0]; q.mayLapse(store.Seq(e.id)) {
			return e.at, true
		}
		q.expiring.take()
	}
	return 0, false
}

// lapsed is a message whose time to live has ended; 0 when there is none.
func (q *Queue) lapsed(now Millis) store.Seq {
	if at, ok := q.firstExpiry(); ok && max(at, q.protected) <= now {
		return store.Seq(q.expiring[0].id)
	}
	return 0
}

// lapsedReason is why messages are dead whose time to live has ended.
const lapsedReason = "expired"

// lapse makes a message dead.
func (q *Queue) lapse(seq store.Seq) {
	n := q.touch(seq)
	s := &q.slots.slab[n]
	q.texts.replace(&s.reason, lapsedReason)
	q.setDead(n)
}

// late says what becomes of a ready message that a claim meets: it is gone past its retention, and gone or dead past its
// time to live.
func (q *Queue) late(now Millis, seq store.Seq, avail int64) (gone, lapsed bool) {
	if q.settings.Retention > 0 && q.expiry(avail) <= now {
		return true, false
	}
	if q.withTTL > 0 && q.protected <= now {
		if at := q.cols.expires(seq); at > 0 && at <= now {
			return !q.settings.ExpiredDead, q.settings.ExpiredDead
		}
	}
	return false, false
}
