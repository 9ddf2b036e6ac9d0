package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

func (s *plain) Settle(_ context.Context, p store.SettleParams) (store.SettleResult, error) {
	q, now, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.SettleResult{}, err
	}
	var r store.SettleResult
	for _, i := range p.Items {
		r.Outcomes = append(r.Outcomes, q.settle(i, p.Strict, now))
	}
	if p.Select != nil {
		var list []*plainMessage
		list, r.Next = q.selected(*p.Select, 1000)
		for _, m := range list {
			r.Outcomes = append(r.Outcomes, q.settleSelected(m, p.Each, now))
		}
	}
	r.NextDue = q.nextDue(now)
	return r, nil
}

func (q *plainQueue) settle(i store.SettleItem, strict bool, now time.Time) store.Outcome {
	m := q.find(i.Seq)
	switch {
	case m == nil && slices.Contains(q.moved, i.Seq):
		return store.Lost
	case m == nil:
		return store.Gone
	case i.Token == store.AnyToken && i.Target == store.Ready && m.state == store.StateLeased:
		return store.Lost
	case i.Token == store.AnyToken:
		return q.settleAny(m, i, now)
	case m.token == 0, m.token != i.Token, m.state == store.StateDead, strict && m.state != store.StateLeased,
		i.Target == store.Leased && m.state == store.StateDelayed,
		i.Uncount && m.state == store.StateReady:
		return store.Lost
	case i.Target == store.Ready && m.state == store.StateDelayed:
		return store.Settled // it was given back already
	}
	return q.change(m, i, now)
}

// settleSelected settles a message that was selected: in the name of its holder, if it has one.
func (q *plainQueue) settleSelected(m *plainMessage, i store.SettleItem, now time.Time) store.Outcome {
	if m.state == store.StateLeased {
		i.Uncount = i.Uncount && i.Target == store.Ready
		return q.change(m, i, now)
	}
	i.Uncount = false
	return q.settleAny(m, i, now)
}

// settleAny settles a message whoever holds it.
func (q *plainQueue) settleAny(m *plainMessage, i store.SettleItem, now time.Time) store.Outcome {
	switch {
	case i.Target == store.Ready && m.state == store.StateDead, i.Target == store.Leased && m.state != store.StateLeased:
		return store.Lost
	case i.Target == store.Dead && m.state == store.StateDead:
		return store.Settled
	case i.Target == store.Ready:
		q.delay(m, i, now)
		m.locks = false
		return store.Settled
	}
	return q.change(m, i, now)
}

// change turns a message into what an item says.
func (q *plainQueue) change(m *plainMessage, i store.SettleItem, now time.Time) store.Outcome {
	if i.Reason != "" && i.Target != store.Done {
		m.reason = i.Reason
	}
	switch i.Target {
	case store.Done:
		q.remove(m, store.Acked, now)
		return store.Settled
	case store.Dead:
		m.end(store.Rejected, now, i.Reason)
		m.bury(now)
	case store.Leased:
		for key, a := range q.attempts {
			if a.token == m.token {
				a.seqs = nil
				q.attempts[key] = a
			}
		}
		m.state, m.due = store.StateLeased, q.until(m, later(now, i.After))
	case store.Ready:
		if !i.Uncount && q.spent(m) && !q.settings.Lazy {
			m.end(store.Rejected, now, i.Reason)
			m.bury(now)
			return store.Died
		}
		if i.Uncount {
			m.Entered--
		} else {
			m.end(store.GivenBack, now, i.Reason)
		}
		q.delay(m, i, now)
	}
	q.pass(now)
	if m.state == store.StateDead && i.Target != store.Dead {
		return store.Died
	}
	return store.Settled
}

// delay makes a message wait, for no time at all perhaps.
func (q *plainQueue) delay(m *plainMessage, i store.SettleItem, now time.Time) {
	if i.Reason != "" {
		m.reason = i.Reason
	}
	m.state, m.due, m.locks = store.StateDelayed, q.until(m, later(now, i.After)), true
	if !m.due.After(now) {
		m.locks = false
	}
	q.pass(now)
}
