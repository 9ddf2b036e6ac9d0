package model

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Claim leases up to p.Max ready messages, oldest first, and returns the event and, for each of its Seqs, the number
// of deliveries since the message entered the queue. It returns false when nothing changed.
func (q *Queue) Claim(now Millis, p store.ClaimParams) (ev Claimed, entered []uint32, changed bool) {
	q.advance(now)
	ev = Claimed{At: now, Deadline: after(now, p.Visibility), Token: q.token + 1, Consumer: p.Consumer}
	var bytes int64
	for len(ev.Seqs) < p.Max && len(ev.Died)+len(ev.Expired) < sweepLimit {
		avail, fresh, ok := q.eldest()
		if !ok {
			break
		}
		var seq store.Seq
		if fresh {
			seq = q.fresh.first()
		} else {
			seq = q.back.top().seq
		}
		if q.settings.Retention > 0 && q.expiry(avail) <= now {
			q.erase(seq)
			ev.Expired = append(ev.Expired, seq)
			continue
		}
		if !fresh && q.usedUp(q.back.top()) {
			q.bury(q.back.items[0])
			ev.Died = append(ev.Died, seq)
			continue
		}
		size, _ := q.cols.get(seq)
		if len(ev.Seqs) > 0 && bytes+int64(size) > p.MaxBytes {
			break
		}
		bytes += int64(size)
		s := q.lease(seq, ev.Token, ev.Deadline, p.Consumer)
		ev.Seqs = append(ev.Seqs, seq)
		ev.Returned = ev.Returned || !fresh
		entered = append(entered, s.entered)
	}
	if len(ev.Seqs) > 0 {
		q.token = ev.Token
	}
	return ev, entered, len(ev.Seqs)+len(ev.Died)+len(ev.Expired) > 0
}

// ApplyClaimed repeats a Claim.
func (q *Queue) ApplyClaimed(ev Claimed) {
	q.advance(ev.At)
	for _, seq := range ev.Expired {
		q.erase(seq)
	}
	for _, seq := range ev.Died {
		q.bury(q.mustFind(seq))
	}
	for _, seq := range ev.Seqs {
		q.lease(seq, ev.Token, ev.Deadline, ev.Consumer)
	}
	if len(ev.Seqs) > 0 {
		q.token = ev.Token
	}
}

// Ready says whether more messages can be claimed now. Call it on an advanced state.
func (q *Queue) Ready() bool { return q.ready() > 0 }

// Size is what a live message counts in bytes.
func (q *Queue) Size(seq store.Seq) uint32 {
	size, _ := q.cols.get(seq)
	return size
}

func (q *Queue) mustFind(seq store.Seq) uint32 {
	n, ok := q.slots.find(seq)
	if !ok {
		panic(fmt.Sprintf("model: queue %d has no touched message %d", q.id, seq))
	}
	return n
}
