package model

import "github.com/dabba-mq/dabba/store"

// Sweep removes up to 1,000 messages past retention. It returns false when there were none.
func (q *Queue) Sweep(now Millis) (Swept, bool) {
	q.advance(now)
	ev := Swept{At: now}
	if q.settings.Retention <= 0 {
		return ev, false
	}
	for len(ev.Expired) < sweepLimit {
		seq, ok := q.expired(now)
		if !ok {
			break
		}
		q.erase(seq)
		ev.Expired = append(ev.Expired, seq)
	}
	return ev, len(ev.Expired) > 0
}

// expired finds one ready or dead message past retention.
func (q *Queue) expired(now Millis) (store.Seq, bool) {
	if !q.dead.empty() && q.expiry(q.dead.top().avail) <= now {
		return q.dead.top().seq, true
	}
	avail, fresh, ok := q.eldest()
	if !ok || q.expiry(avail) > now {
		return 0, false
	}
	if fresh {
		return q.fresh.first(), true
	}
	return q.back.top().seq, true
}

// ApplySwept repeats a Sweep.
func (q *Queue) ApplySwept(ev Swept) {
	q.advance(ev.At)
	for _, seq := range ev.Expired {
		q.erase(seq)
	}
}
