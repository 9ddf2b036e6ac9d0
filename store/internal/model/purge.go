package model

import (
	"reflect"

	"github.com/dabba-mq/dabba/store"
)

// Purge removes what a selection chooses: everything, with dedup keys and attempts, if it is the zero value, else up to
// 1,000 messages. next is where to go on. It returns false when nothing changed.
func (q *Queue) Purge(now Millis, sel *store.Selection) (ev Purged, n int64, next store.Seq, changed bool) {
	q.advance(now)
	ev = Purged{At: now}
	if reflect.ValueOf(*sel).IsZero() {
		n = q.Len()
		ev.All = true
		q.clear(now)
		return ev, n, 0, true
	}
	ev.Seqs, next = q.choose(sel, sweepLimit)
	for _, seq := range ev.Seqs {
		q.erase(now, seq, store.Purged)
	}
	return ev, int64(len(ev.Seqs)), next, len(ev.Seqs) > 0
}

// clear removes all messages at once.
func (q *Queue) clear(now Millis) {
	if limit := int64(q.settings.History); limit > 0 {
		// The last ones are remembered: those before them would be forgotten again.
		skip := q.Len() - limit
		for seq := range q.liveSeqs() {
			if skip--; skip < 0 {
				q.bequeath(now, q.touch(seq), store.Purged)
			}
		}
	}
	erased, cleared, past := q.Erased, q.Cleared, q.past
	kept := NewQueue(q.id)
	kept.settings, kept.now, kept.next, kept.token, kept.clock = q.settings, q.now, q.next, q.token, q.clock
	kept.once, kept.moved, kept.past = q.once, q.moved, past
	kept.Erased, kept.Cleared = erased, cleared
	if q.lanes != nil {
		kept.lanes = newLanes()
		kept.lanes.turns = q.lanes.turns
	}
	*q = *kept
	q.timed.slots, q.back.slots, q.dead.slots = &q.slots, &q.slots, &q.slots
	if cleared != nil {
		cleared()
	}
}

// ApplyPurged repeats a Purge.
func (q *Queue) ApplyPurged(ev Purged) {
	q.advance(ev.At)
	if ev.All {
		q.clear(ev.At)
		return
	}
	for _, seq := range ev.Seqs {
		q.erase(ev.At, seq, store.Purged)
	}
}
