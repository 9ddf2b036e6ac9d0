package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// plainPast is a message that was removed.
type plainPast struct {
	view store.View
	from store.QueueID // where it was first sent
	seq  store.Seq
}

// chosen says whether a selection chooses a message.
func (m *plainMessage) chosen(s store.Selection) bool {
	at := m.avail
	if m.waited {
		at = tick(m.due)
	}
	return (s.States == 0 || m.state&s.States != 0) &&
		(s.Group == nil || *s.Group == m.Group) &&
		(s.Consumer == "" || m.state == store.StateLeased && s.Consumer == m.consumer) &&
		(s.AvailableBefore.IsZero() || tickTime(at).Before(s.AvailableBefore)) &&
		s.From <= m.Seq && (s.UpTo == 0 || m.Seq <= s.UpTo) &&
		(s.Seqs == nil || slices.Contains(s.Seqs, m.Seq))
}

// selected lists the first messages that a selection chooses, and says where there are more.
func (q *plainQueue) selected(s store.Selection, limit int) ([]*plainMessage, store.Seq) {
	list := filter(q.messages, func(m *plainMessage) bool { return m.chosen(s) })
	if len(list) > limit {
		return list[:limit], list[limit].Seq
	}
	return list, 0
}

func (s *plain) Scan(_ context.Context, p store.ScanParams) (store.ScanResult, error) {
	q, _, err := s.queue(p.Queue)
	if err != nil {
		return store.ScanResult{}, err
	}
	list, next := q.selected(p.Select, p.Limit)
	r := store.ScanResult{Next: next}
	var size int64
	for i, m := range list {
		if size += int64(len(m.Payload)); i > 0 && size > p.MaxBytes {
			r.Next = m.Seq
			break
		}
		r.Views = append(r.Views, m.view())
	}
	return r, nil
}

func (m *plainMessage) view() store.View {
	v := store.View{
		Delivery: m.deliver(), State: m.state, Token: m.token, Consumer: m.consumer, LeasedAt: m.leasedAt,
		Reason: m.reason, Visits: slices.Clone(m.visits),
	}
	if m.state&(store.StateDelayed|store.StateLeased) != 0 {
		v.Due = m.due
	}
	return v
}

// origin is where a message was first sent.
func (q *plainQueue) origin(m *plainMessage) (store.QueueID, store.Seq) {
	if m.Origin != nil {
		return m.Origin.Queue, m.Origin.Seq
	}
	return q.id, m.Seq
}

func (s *plain) Lookup(_ context.Context, id, origin store.QueueID, seq store.Seq) (store.View, error) {
	q, _, err := s.queue(id)
	if err != nil {
		return store.View{}, err
	}
	for _, m := range q.messages {
		if from, first := q.origin(m); from == origin && first == seq {
			return m.view(), nil
		}
	}
	for _, p := range slices.Backward(q.past) {
		if p.from == origin && p.seq == seq {
			return p.view, nil
		}
	}
	return store.View{}, store.ErrNotFound
}

// remember keeps what History wants of a message that was removed.
func (q *plainQueue) remember(m *plainMessage, how store.Removal, now time.Time) {
	v := m.view()
	v.Payload, v.Size, v.Origin, v.SentAt = nil, 0, nil, time.Time{}
	v.Receives = v.Entered // those elsewhere were a part of the origin
	v.State, v.Due, v.RemovedAt, v.Removal = 0, time.Time{}, now, how
	from, seq := q.origin(m)
	q.past = append(q.past, plainPast{v, from, seq})
	q.trim()
}

// trim forgets what is more than History wants.
func (q *plainQueue) trim() {
	q.past = q.past[max(0, len(q.past)-int(q.settings.History)):]
}

func (s *plain) Groups(_ context.Context, id store.QueueID, after *string, limit int) ([]store.Group, error) {
	q, now, err := s.queue(id)
	if err != nil {
		return nil, err
	}
	var list []store.Group
	for name := range q.groups {
		if after == nil || name > *after {
			list = append(list, q.group(name, now))
		}
	}
	slices.SortFunc(list, func(a, b store.Group) int { return strings.Compare(a.Name, b.Name) })
	return list[:min(len(list), limit)], nil
}

func (q *plainQueue) group(name string, now time.Time) store.Group {
	of := func(state store.States) []*plainMessage {
		return filter(q.in(state), func(m *plainMessage) bool { return m.Group == name })
	}
	ready := of(store.StateReady)
	g := store.Group{
		Name: name, Ready: int64(len(ready)), Leased: int64(len(of(store.StateLeased))),
		Delayed: int64(len(of(store.StateDelayed))), Dead: int64(len(of(store.StateDead))), HeadAge: -1,
	}
	if len(ready) > 0 {
		head := slices.MinFunc(ready, q.order(now, nil))
		g.Head, g.HeadAge = head.Seq, now.Sub(tickTime(head.avail))
	}
	locks := q.lockers(name)
	if q.settings.Tail && len(locks) > 0 {
		if len(ready) > 0 && g.Head < locks[0].Seq {
			return g
		}
		locks = locks[:1]
	}
	for i, m := range locks {
		if i == 0 {
			g.Head = m.Seq
		}
		if m.due.After(g.LockedUntil) {
			g.LockedUntil = m.due
		}
	}
	return g
}

func (s *plain) Stats(_ context.Context, id store.QueueID) (store.Stats, error) {
	q, now, err := s.queue(id)
	if err != nil {
		return store.Stats{}, err
	}
	r := store.Stats{
		Ready: q.count(store.StateReady), Leased: q.count(store.StateLeased), Delayed: q.count(store.StateDelayed),
		Dead: q.count(store.StateDead), OldestAge: -1, Revision: q.settings.Revision, NextDue: q.nextDue(now),
	}
	for _, m := range q.messages {
		r.Bytes += int64(m.Size)
	}
	if ready := q.in(store.StateReady); len(ready) > 0 {
		r.OldestAge = now.Sub(tickTime(ready[0].avail))
	}
	return r, nil
}
