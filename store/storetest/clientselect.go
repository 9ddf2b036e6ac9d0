package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// drawSelection draws messages by group, by state or by both. Sometimes it is the zero value, which is all.
func (c *client) drawSelection() store.Selection {
	var sel store.Selection
	if c.load.groups > 0 && c.rng.IntN(2) == 0 {
		sel.Group = new(fmt.Sprint("group ", c.rng.IntN(c.load.groups)))
	}
	if c.rng.IntN(4) > 0 {
		sel.States = store.States(1 + c.rng.IntN(int(store.AnyState)))
	}
	return sel
}

// selected lists the messages of a selection in the order of their sequences.
func (q *queueLedger) selected(sel store.Selection, now time.Time) []message {
	var list []message
	for _, m := range q.messages {
		if (sel.Group == nil || *sel.Group == m.group) && (sel.States == 0 || sel.States&q.stateOf(m, now) != 0) &&
			(sel.Consumer == "" || sel.Consumer == m.consumer && q.stateOf(m, now) == store.StateLeased) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b message) int { return a.place - b.place })
	return list
}

// stateOf is the state in which a running store has a message.
func (q *queueLedger) stateOf(m message, now time.Time) store.States {
	switch q.state(m, now) {
	case isReady:
		return store.StateReady
	case isHeld:
		if m.lease.After(now) {
			return store.StateLeased
		}
		return store.StateDelayed
	case isDead, isSpent:
	}
	return store.StateDead
}

// purge removes what is selected.
func (c *client) purge() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	now := c.clock.Now()
	sel := c.drawSelection()
	all := sel.Group == nil && sel.States == 0
	list := q.selected(sel, now)
	var r store.PurgeResult
	call := fmt.Sprintf("Purge(%x, %v)", uint64(id), describe(sel))
	if c.call(call, func() (err error) {
		r, err = c.store.Purge(c.ctx, id, sel)
		return err
	}, func(l *ledger, _ bool) {
		q := l.queues[id]
		for _, m := range list {
			delete(q.messages, m.number)
		}
		if all {
			clear(q.dedup)
		}
	}) && r.Purged != int64(len(list)) {
		c.complain("%s: got %d purged, want %d", call, r.Purged, len(list))
	}
}

// moveSome takes what is selected to another queue of the client.
func (c *client) moveSome() {
	from, source, ok := c.pick()
	to, _, _ := c.pick()
	if !ok { // both may be one queue
		return
	}
	now := c.clock.Now()
	p := store.MoveParams{
		Source: from, Target: to, Select: c.drawSelection(), Limit: 1 + c.rng.IntN(2*c.load.batch), Label: fmt.Sprintf("%x", uint64(from)),
	}
	if p.Select.States == store.StateDead && p.Select.Group == nil {
		p.Select.From = 1 // which is in order, too
	}
	list := slices.DeleteFunc(source.selected(p.Select, now), func(m message) bool {
		return source.stateOf(m, now) == store.StateLeased
	})
	list = list[:min(len(list), p.Limit)]
	var r store.MoveResult
	call := fmt.Sprintf("Move(%x to %x, %v, %d of %d)", uint64(from), uint64(to), describe(p.Select), p.Limit, len(list))
	if c.call(call, func() (err error) {
		r, err = c.store.Move(c.ctx, p)
		return excuse(err, errRead)
	}, func(l *ledger, _ bool) {
		for _, m := range list {
			delete(l.queues[from].messages, m.number)
			l.queues[to].add(m.moved(p, now))
		}
	}) && r.Moved != len(list) {
		c.complain("%s: got %d moved, want %d", call, r.Moved, len(list))
	}
}

// settleSome releases what a consumer holds, skips a group or makes it dead.
func (c *client) settleSome() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	now := c.clock.Now()
	sel := store.Selection{Group: new(fmt.Sprint("group ", c.rng.IntN(max(c.load.groups, 1))))}
	each := store.SettleItem{Target: store.Done}
	switch c.rng.IntN(4) {
	case 0, 1:
		sel, each.Target, each.Uncount = store.Selection{Consumer: c.consumer()}, store.Ready, c.rng.IntN(2) == 0
	case 2:
		sel.States = store.StateReady | store.StateDelayed | store.StateLeased
		each.Target, each.Reason = store.Dead, "given up"
	}
	list := q.selected(sel, now)
	var r store.SettleResult
	call := fmt.Sprintf("Settle(%x, %v, %+v)", uint64(id), describe(sel), each)
	if c.call(call, func() (err error) {
		r, err = c.store.Settle(c.ctx, store.SettleParams{Queue: id, Revision: q.settings.Revision, Select: &sel, Each: each})
		return err
	}, func(l *ledger, _ bool) {
		for _, m := range list {
			l.queues[id].settle(m, each, now)
		}
	}) && len(r.Outcomes) != len(list) {
		c.complain("%s: got %d outcomes, want %d", call, len(r.Outcomes), len(list))
	}
}

// reschedule changes the delay of a message that was never available, by its sequence alone.
func (c *client) reschedule() {
	id, q, ok := c.pick()
	if !ok {
		return
	}
	now := c.clock.Now()
	list := slices.DeleteFunc(q.selected(store.Selection{States: store.StateDelayed}, now), func(m message) bool {
		return m.seq == 0 || !m.avail.After(now)
	})
	if len(list) == 0 {
		c.send()
		return
	}
	m := list[c.rng.IntN(len(list))]
	i := item(m.seq, store.AnyToken, store.Ready, time.Duration(c.rng.IntN(20))*time.Second)
	var r store.SettleResult
	call := fmt.Sprintf("Settle(%x, seq %d, ready after %v)", uint64(id), m.seq, i.After)
	if c.call(call, func() (err error) {
		r, err = c.store.Settle(c.ctx, store.SettleParams{Queue: id, Revision: q.settings.Revision, Items: []store.SettleItem{i}})
		return err
	}, func(l *ledger, _ bool) {
		m.due, m.avail = now.Add(i.After), now.Add(i.After)
		l.queues[id].messages[m.number] = m
	}) && r.Outcomes[0] != store.Settled {
		c.complain("%s: got outcome %d, want %d", call, r.Outcomes[0], store.Settled)
	}
}

// describe tells a selection in short.
func describe(sel store.Selection) string {
	group := "any group"
	if sel.Group != nil {
		group = *sel.Group
	}
	return fmt.Sprintf("states %04b, %s, consumer %q, from %d", sel.States, group, sel.Consumer, sel.From)
}
