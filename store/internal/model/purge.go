package model

import "github.com/dabba-mq/dabba/store"

// Purge removes what a selection chooses: everything, with dedup keys and attempts, if it is the zero value, else up to
// 1,000 messages. next is where to go on. It returns false when nothing changed.
func (q *Queue) Purge(now Millis, sel *store.Selection) (ev Purged, n int64, next store.Seq, changed bool) {
	q.advance(now)
	ev = Purged{At: now}
	if sel.States == 0 && onlyStates(sel) {
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

// clear removes all messages at once: what is left is a new queue with what outlives messages.
func (q *Queue) clear(now Millis) {
	if limit := int64(q.settings.History); limit > 0 {
		// The last ones are remembered: those before them would be forgotten again.
		from, n := q.cols.last(limit)
		for seq := range q.liveFrom(from) {
			if n--; n < limit {
				q.noteDeparture(now, q.touch(seq), store.Purged)
			}
		}
	}
	erased, cleared, departed := q.Erased, q.Cleared, q.departed
	kept := NewQueue(q.id)
	kept.settings, kept.now, kept.next, kept.token, kept.clock = q.settings, q.now, q.next, q.token, q.clock
	kept.protected, kept.byWall.ahead, kept.byWall.since = q.protected, q.byWall.ahead, q.byWall.since
	kept.once, kept.movedAway, kept.departed = q.once, q.movedAway, departed
	kept.Erased, kept.Cleared = erased, cleared
	if q.lanes != nil {
		kept.lanes = newLanes()
		kept.lanes.turns = q.lanes.turns
	}
	*q = *kept
	for _, o := range []*order{&q.delays, &q.leases, &q.back, &q.dead} {
		o.slots = &q.slots
	}
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
