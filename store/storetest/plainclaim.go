package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// plainAttempt is what the first claim under an attempt took.
type plainAttempt struct {
	token store.Token
	// seqs is empty once one of the leases was changed.
	seqs []store.Seq
	ends time.Time
}

func (s *plain) Claim(_ context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	q, now, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.ClaimResult{}, err
	}
	deadline := later(now, p.Visibility)
	r, again := q.repeat(p.Attempt, deadline, now)
	switch {
	case again:
	case p.FirstOnly && q.attemptSpent(p.Attempt, now):
		r = store.ClaimResult{Deadline: deadline, Spent: true}
	default:
		r = q.claim(p, deadline, now)
	}
	r.Ready = q.choose(now, nil) != nil // more than these, though a lease of zero has ended
	q.pass(now)
	r.NextDue = q.nextDue(now)
	return r, nil
}

func (q *plainQueue) claim(p store.ClaimParams, deadline, now time.Time) store.ClaimResult {
	r := store.ClaimResult{Token: q.token + 1, Deadline: deadline}
	var size int64
	var serving *string
	var seqs []store.Seq
	for len(r.Messages) < p.Max {
		m := q.choose(now, serving)
		if m == nil {
			break
		}
		serving = &m.Group
		switch {
		case q.aged(m, now):
			q.remove(m, store.Aged, now)
			r.Expired++
			continue
		case m.lapsed(now):
			if q.lapse(m, now) {
				r.Died++
			} else {
				r.Expired++
			}
			continue
		case q.spent(m):
			m.bury(now)
			r.Died++
			continue
		}
		if size += int64(m.Size); len(r.Messages) > 0 && size > p.MaxBytes {
			break
		}
		q.lease(m, r.Token, p.Consumer, deadline, now)
		r.Messages = append(r.Messages, m.deliver())
		seqs = append(seqs, m.Seq)
	}
	if len(seqs) == 0 {
		return r
	}
	q.token = r.Token
	if p.Attempt != [16]byte{} {
		q.attempts[p.Attempt] = plainAttempt{r.Token, seqs, later(now, p.AttemptWindow)}
	}
	return r
}

// lapse removes a message past its time to live. It says whether the message is dead by that.
func (q *plainQueue) lapse(m *plainMessage, now time.Time) bool {
	if !q.settings.ExpiredDead {
		q.remove(m, store.Aged, now)
		return false
	}
	m.bury(now)
	m.reason = "expired"
	return true
}

func (q *plainQueue) lease(m *plainMessage, token store.Token, consumer string, deadline, now time.Time) {
	m.state, m.token, m.consumer, m.leasedAt, m.due = store.StateLeased, token, consumer, now, q.until(m, deadline)
	m.Entered++
	q.turn++
	g := q.groups[m.Group]
	g.turn = q.turn
	g.ahead = advance(g.ahead, q.settings.GroupInterval, now)
	q.ahead = advance(q.ahead, q.settings.Interval, now)
}

// deliver is what a receiver sees of a message.
func (m *plainMessage) deliver() store.Delivery {
	d := m.Delivery
	d.Payload, d.Receives = slices.Clone(d.Payload), d.Entered
	if d.Origin != nil {
		d.Receives += d.Origin.Receives
	}
	if !m.waited {
		d.AvailableAt = tickTime(m.avail)
	}
	return d
}

// attemptSpent says whether a message of the first claim has left, or had its lease changed.
func (q *plainQueue) attemptSpent(attempt [16]byte, now time.Time) bool {
	first, seen := q.attempts[attempt]
	return seen && first.ends.After(now) &&
		(len(first.seqs) == 0 || slices.ContainsFunc(first.seqs, func(seq store.Seq) bool { return q.find(seq) == nil }))
}

// repeat answers a claim under an attempt whose messages are all still leased.
func (q *plainQueue) repeat(attempt [16]byte, deadline, now time.Time) (store.ClaimResult, bool) {
	first, seen := q.attempts[attempt]
	if !seen || !first.ends.After(now) || len(first.seqs) == 0 {
		return store.ClaimResult{}, false
	}
	r := store.ClaimResult{Token: first.token, Deadline: deadline, Repeated: true}
	for _, seq := range first.seqs {
		m := q.find(seq)
		if m == nil || m.state != store.StateLeased || m.token != first.token {
			return store.ClaimResult{}, false
		}
		r.Messages = append(r.Messages, m.deliver())
	}
	for _, m := range q.messages {
		if slices.Contains(first.seqs, m.Seq) {
			m.due = q.until(m, deadline)
		}
	}
	return r, true
}
