package model

import "github.com/dabba-mq/dabba/store"

// Sweep removes up to 1,000 messages past retention or time to live. It returns false when there were none.
func (q *Queue) Sweep(now Millis) (Swept, bool) {
	q.advance(now)
	ev := Swept{At: now}
	for len(ev.Expired)+len(ev.Lapsed) < sweepLimit {
		if seq, ok := q.expired(now); ok {
			q.erase(now, seq, store.Aged)
			ev.Expired = append(ev.Expired, seq)
			continue
		}
		seq := q.lapsed(now)
		switch {
		case seq == 0:
			return ev, len(ev.Expired)+len(ev.Lapsed) > 0
		case q.settings.ExpiredDead:
			q.lapse(seq)
			ev.Lapsed = append(ev.Lapsed, seq)
		default:
			q.erase(now, seq, store.Aged)
			ev.Expired = append(ev.Expired, seq)
		}
	}
	return ev, true
}

// expired finds one ready or dead message past retention.
func (q *Queue) expired(now Millis) (store.Seq, bool) {
	if q.settings.Retention <= 0 {
		return 0, false
	}
	if !q.dead.empty() && q.expiry(q.dead.top().avail) <= now {
		return q.dead.top().seq, true
	}
	seq, avail, ok := q.eldest()
	if !ok || q.expiry(avail) > now {
		return 0, false
	}
	return seq, true
}

// ApplySwept repeats a Sweep.
func (q *Queue) ApplySwept(ev Swept) {
	q.advance(ev.At)
	for _, seq := range ev.Expired {
		q.erase(ev.At, seq, store.Aged)
	}
	for _, seq := range ev.Lapsed {
		q.lapse(seq)
	}
}
