package model

import "github.com/dabba-mq/dabba/store"

// Sweep removes up to 1,000 messages past retention or time to live. It returns false when there were none.
func (q *Queue) Sweep(now Millis) (Swept, bool) {
	q.advance(now)
	ev := Swept{At: now}
	for ev.removed() < sweepLimit {
		seq, ok := q.expired(now)
		if !ok {
			break
		}
		q.erase(now, seq, store.Aged)
		ev.Expired = append(ev.Expired, seq)
	}
	for ev.removed() < sweepLimit {
		seq := q.lapsed(now)
		if seq == 0 {
			break
		}
		if q.settings.ExpiredDead {
			q.lapse(seq)
			ev.Lapsed = append(ev.Lapsed, seq)
			continue
		}
		q.erase(now, seq, store.Aged)
		ev.Expired = append(ev.Expired, seq)
	}
	return ev, ev.removed() > 0
}

func (ev *Swept) removed() int { return len(ev.Expired) + len(ev.Lapsed) }

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
