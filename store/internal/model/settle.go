package model

import "github.com/dabba-mq/dabba/store"

// Settle judges and changes items one after the other, or what p.Select chooses. next is where to go on selecting. It
// returns false when nothing changed.
func (q *Queue) Settle(now Millis, p store.SettleParams) (ev Settled, outcomes []store.Outcome, next store.Seq, changed bool) {
	q.advance(now)
	items := p.Items
	selected := p.Select != nil
	if selected {
		var seqs []store.Seq
		seqs, next = q.choose(p.Select, sweepLimit)
		items = make([]store.SettleItem, len(seqs))
		for i, seq := range seqs {
			items[i] = p.Each
			items[i].Seq, items[i].Token = seq, store.AnyToken
		}
	}
	ev = Settled{At: now}
	outcomes = make([]store.Outcome, len(items))
	for i, item := range items {
		change, outcome, effective := q.judge(now, item, p.Strict, selected)
		outcomes[i] = outcome
		if effective {
			q.change(now, change)
			ev.Changes = append(ev.Changes, change)
			if q.isDead(item.Seq) && item.Target != store.Dead {
				outcomes[i] = store.Died // by this change or since its lease was ended by it
			}
		}
	}
	return ev, outcomes, next, len(ev.Changes) > 0
}

// judge decides one item without changing anything.
func (q *Queue) judge(now Millis, item store.SettleItem, strict, selected bool) (Change, store.Outcome, bool) {
	if !q.Live(item.Seq) {
		if q.movedAway.has(item.Seq) {
			return Change{}, store.Lost, false // it lives on elsewhere
		}
		return Change{}, store.Gone, false
	}
	c := Change{
		Seq: item.Seq, Target: item.Target, Due: after(now, item.After), Reason: item.Reason, Uncount: item.Uncount,
	}
	if item.Target < store.Done || item.Target > store.Dead {
		panic("model: settle without a target")
	}
	if item.Target == store.Ready && item.Token == store.AnyToken && !item.NotBefore.IsZero() {
		if _, at := waits(now, q.byWall.ahead, after(0, item.After), item.NotBefore); at > 0 {
			c.Due, c.ByWall = at, true
		}
	}
	if item.Token == store.AnyToken {
		return q.judgeAny(c, selected)
	}
	n, touched := q.slots.find(item.Seq)
	if !touched {
		return Change{}, store.Lost, false // its lease was forgotten by a crash
	}
	s := &q.slots.slab[n]
	if s.token == 0 || s.token != item.Token || s.state == dead || strict && s.state != leased {
		return Change{}, store.Lost, false
	}
	switch item.Target {
	case store.Ready:
		if s.state == delayed || s.state == backoff {
			return Change{}, store.Settled, false // already given back: a repeat does not draw a new delay
		}
		if item.Uncount && s.state != leased {
			return Change{}, store.Lost, false
		}
		if !item.Uncount && q.usedUp(s) && !q.settings.Lazy {
			c.Target = store.Dead
		}
		c.Backs = c.Target == store.Ready
	case store.Leased:
		c.Uncount = false
		if s.state == delayed || s.state == backoff {
			return Change{}, store.Lost, false // a late heartbeat does not undo a nack
		}
	case store.Done, store.Dead:
		c.Uncount = false
	}
	return c, store.Settled, true
}

// judgeAny decides one item whose message is chosen whoever holds it.
func (q *Queue) judgeAny(c Change, selected bool) (Change, store.Outcome, bool) {
	var st state
	n, touched := q.slots.find(c.Seq)
	if touched {
		st = q.slots.slab[n].state
	}
	c.Uncount = c.Uncount && selected && st == leased && c.Target == store.Ready
	switch c.Target {
	case store.Ready:
		if st == dead || st == leased && !selected {
			return Change{}, store.Lost, false
		}
		if st == leased && !c.Uncount && q.usedUp(&q.slots.slab[n]) && !q.settings.Lazy {
			c.Target = store.Dead
		}
		c.Backs = st == leased && c.Target == store.Ready
		if c.ByWall && st == leased {
			c.Due, c.ByWall = q.dueByWall(c.Due), false // a backoff is a duration
		}
	case store.Leased:
		if st != leased {
			return Change{}, store.Lost, false
		}
	case store.Dead:
		if st == dead {
			return Change{}, store.Settled, false
		}
	case store.Done:
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
		q.erase(now, c.Seq, store.Acked)
		return
	}
	n := q.slotOf(c.Seq)
	s := &q.slots.slab[n]
	if c.Reason != "" {
		q.texts.replace(&s.reason, c.Reason)
	}
	was := s.state
	switch c.Target {
	case store.Done: // above
	case store.Dead:
		if was == leased {
			q.leaveVisit(n, now, store.Rejected, c.Reason)
		}
		q.leave(n)
		q.setDead(n)
	case store.Ready:
		q.giveBack(n, now, c)
	case store.Leased:
		q.attempts.spend(s.token) // whose answer has arrived
		q.leave(n)
		q.setLeased(n, c.Due)
		q.advance(now) // it may end at once
	}
}

// slotOf is the slot of a message. One that had none gets one and is in no state; the others are still in theirs.
func (q *Queue) slotOf(seq store.Seq) uint32 {
	n, touched := q.slots.find(seq)
	if !touched {
		n = q.touch(seq)
	}
	return n
}

func (q *Queue) giveBack(n uint32, now Millis, c Change) {
	s := &q.slots.slab[n]
	switch {
	case c.Uncount:
		s.entered--
	case s.state == leased:
		q.leaveVisit(n, now, store.GivenBack, c.Reason)
	}
	q.leave(n)
	switch {
	case c.ByWall:
		if at := q.dueByWall(c.Due); at > now {
			q.waitByWall(n, c.Due)
		} else {
			q.setReady(n, now)
		}
	case c.Due <= now:
		q.setReady(n, now)
	case c.Backs:
		q.setDelayed(n, backoff, c.Due)
	default:
		q.setDelayed(n, delayed, c.Due)
	}
	if c.Due > now {
		q.advance(now) // its retention may end at once
	}
}

// ApplySettled repeats a Settle.
func (q *Queue) ApplySettled(ev Settled) {
	q.advance(ev.At)
	for _, c := range ev.Changes {
		q.change(ev.At, c)
	}
}

// Frees says whether a change that took messages out of their states may let a waiting claim or send go on: messages
// became ready, a group or a limit let go of some, or a bounded queue has room. Call it on an advanced state.
func (q *Queue) Frees(released bool) bool {
	s := &q.settings
	if released || s.MaxMessages > 0 || s.MaxBytes > 0 {
		return true
	}
	return (q.lanes != nil || s.MaxInFlight > 0) && q.Claimable()
}

// Released says whether the event may have made messages ready at once.
func (ev Settled) Released() bool {
	for _, c := range ev.Changes {
		if c.Target != store.Done && c.Target != store.Dead && !c.ByWall && c.Due <= ev.At {
			return true
		}
	}
	return false
}
