package model

import "github.com/dabba-mq/dabba/store"

// Settle judges and changes items one after the other. It returns false when nothing changed.
func (q *Queue) Settle(now Millis, p store.SettleParams) (Settled, []store.Outcome, bool) {
	q.advance(now)
	ev := Settled{At: now}
	outcomes := make([]store.Outcome, len(p.Items))
	for i, item := range p.Items {
		change, outcome, effective := q.judge(now, item, p.Strict)
		outcomes[i] = outcome
		if effective {
			q.change(now, change)
			ev.Changes = append(ev.Changes, change)
			if q.isDead(item.Seq) && item.Target != store.Dead {
				outcomes[i] = store.Died // by this change or since its lease was ended by it
			}
		}
	}
	return ev, outcomes, len(ev.Changes) > 0
}

// judge decides one item without changing anything.
func (q *Queue) judge(now Millis, item store.SettleItem, strict bool) (Change, store.Outcome, bool) {
	n, touched := q.slots.find(item.Seq)
	if !touched {
		if q.fresh.has(item.Seq) || q.moved.has(item.Seq) {
			return Change{}, store.Lost, false // its lease was forgotten by a crash, or it lives on elsewhere
		}
		return Change{}, store.Gone, false
	}
	s := &q.slots.slab[n]
	if s.token == 0 || s.token != item.Token || s.state == dead || strict && s.state != leased {
		return Change{}, store.Lost, false
	}
	c := Change{Seq: item.Seq, Target: item.Target, Due: after(now, item.After), Reason: item.Reason}
	switch item.Target {
	case store.Ready:
		if s.state == delayed {
			return Change{}, store.Settled, false // already given back: a repeat does not draw a new delay
		}
		if item.Uncount {
			if s.state != leased {
				return Change{}, store.Lost, false
			}
			c.Uncount = true
		} else if q.usedUp(s) && !q.settings.Lazy {
			c.Target = store.Dead
			return c, store.Settled, true
		}
	case store.Leased:
		if s.state == delayed {
			return Change{}, store.Lost, false // a late heartbeat does not undo a nack
		}
	case store.Done, store.Dead:
	default:
		panic("model: settle without a target")
	}
	return c, store.Settled, true
}

func (q *Queue) isDead(seq store.Seq) bool {
	n, ok := q.slots.find(seq)
	return ok && q.slots.slab[n].state == dead
}

// change carries out one effective change.
func (q *Queue) change(now Millis, c Change) {
	if c.Target == store.Done {
		q.erase(c.Seq)
		return
	}
	n := q.mustFind(c.Seq)
	if c.Reason != "" {
		s := &q.slots.slab[n]
		old := s.reason
		s.reason = q.texts.hold(c.Reason)
		q.texts.release(old)
	}
	switch c.Target {
	case store.Done: // above
	case store.Dead:
		q.bury(n)
	case store.Ready:
		q.giveBack(n, now, c)
	case store.Leased:
		q.extend(n, now, c.Due)
	}
}

func (q *Queue) giveBack(n uint32, now Millis, c Change) {
	if c.Uncount {
		q.slots.slab[n].entered--
	}
	if c.Due > now {
		q.postpone(n, c.Due)
		return
	}
	q.offer(n, now)
}

// extend lets the lease end at due; at once when that is not after now.
func (q *Queue) extend(n uint32, now, due Millis) {
	s := &q.slots.slab[n]
	consumer := q.texts.hold(q.texts.get(s.consumer)) // leaving lets go of it
	q.leave(n)
	s.state, s.due, s.consumer = leased, due, consumer
	q.timed.add(n)
	q.advance(now)
}

// ApplySettled repeats a Settle.
func (q *Queue) ApplySettled(ev Settled) {
	q.advance(ev.At)
	for _, c := range ev.Changes {
		q.change(ev.At, c)
	}
}

// Released says whether the event may have made messages ready at once.
func (ev Settled) Released() bool {
	for _, c := range ev.Changes {
		if c.Target != store.Done && c.Target != store.Dead && c.Due <= ev.At {
			return true
		}
	}
	return false
}
