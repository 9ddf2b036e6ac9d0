package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

type plainOnce struct {
	store.Once
	result store.SendResult
	ends   time.Time
}

// plainKey is what a deduplication key stands for.
type plainKey struct {
	seq  store.Seq
	ends time.Time
}

func (s *plain) Send(_ context.Context, p store.SendParams) (store.SendResult, error) {
	q, now, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.SendResult{}, err
	}
	if p.Once != nil {
		if first, seen := q.once[p.Once.Key]; seen && first.ends.After(now) {
			if first.Fingerprint != p.Once.Fingerprint {
				return store.SendResult{}, store.ErrKeyReused
			}
			r := first.result
			r.Duplicate, r.Note, r.Evicted, r.NextDue = true, first.Note, 0, q.nextDue(now)
			return r, nil
		}
	}
	tried := q.clone()
	r := tried.send(p.Entries, now)
	all := func(f store.Fate) bool { return f.Verdict == store.Accepted || f.Verdict == store.Duplicate }
	if p.Whole && slices.ContainsFunc(r.Fates, func(f store.Fate) bool { return !all(f) }) {
		r = q.refuse(p.Entries, now)
	} else {
		*q = *tried
	}
	if p.Once != nil && r.Count > 0 {
		once := *p.Once
		once.Note = slices.Clone(once.Note)
		q.once[once.Key] = plainOnce{once, r, later(now, once.Window)}
	}
	r.NextDue = q.nextDue(now)
	return r, nil
}

// clone copies what a send changes.
func (q *plainQueue) clone() *plainQueue {
	c := *q
	c.messages, c.past = slices.Clone(q.messages), slices.Clone(q.past)
	c.dedup = maps.Clone(q.dedup)
	c.groups = make(map[string]*plainGroup)
	for name, g := range q.groups {
		same := *g
		c.groups[name] = &same
	}
	return &c
}

func (q *plainQueue) send(entries []store.Entry, now time.Time) store.SendResult {
	r := store.SendResult{First: q.next, SentAt: now}
	for _, e := range entries {
		f := store.Fate{Verdict: store.Accepted}
		if first, seen := q.duplicate(e, now); seen {
			f = store.Fate{Verdict: store.Duplicate, Seq: first}
		} else if !q.fits(e, store.StateReady|store.StateDelayed|store.StateLeased) {
			f.Verdict = q.overflow(e)
			if f.Verdict == store.Accepted {
				r.Evicted += q.evict(e, now)
			}
		}
		if f.Verdict == store.Accepted {
			f.Seq = q.accept(e, now)
			r.Count++
		}
		r.Fates = append(r.Fates, f)
	}
	if r.Count == len(entries) {
		r.Fates = nil
	}
	return r
}

// refuse is the answer to a send that is accepted as a whole or not at all.
func (q *plainQueue) refuse(entries []store.Entry, now time.Time) store.SendResult {
	r := store.SendResult{First: q.next, SentAt: now}
	for _, e := range entries {
		f := store.Fate{Verdict: store.Refused}
		if first, seen := q.duplicate(e, now); seen {
			f = store.Fate{Verdict: store.Duplicate, Seq: first}
		}
		r.Fates = append(r.Fates, f)
	}
	return r
}

func (q *plainQueue) duplicate(e store.Entry, now time.Time) (store.Seq, bool) {
	k, seen := q.dedup[e.Dedup]
	return k.seq, e.Dedup != store.DedupKey{} && seen && k.ends.After(now) && q.settings.DedupWindow > 0
}

// fits says whether there is room for a message beside those in some states.
func (q *plainQueue) fits(e store.Entry, beside store.States) bool {
	messages, size := int64(1), int64(e.Size)
	for _, m := range q.messages {
		if m.state&beside != 0 {
			messages++
			size += int64(m.Size)
		}
	}
	within := func(n, bound int64) bool { return bound == 0 || n <= bound }
	return within(messages, q.settings.MaxMessages) && within(size, q.settings.MaxBytes)
}

// overflow says what becomes of a message for which there is no room; others give way if it is accepted.
func (q *plainQueue) overflow(e store.Entry) store.Verdict {
	switch {
	case e.Displace || q.settings.Overflow == store.DropOldest:
		if q.fits(e, store.StateLeased) {
			return store.Accepted
		}
	case q.settings.Overflow == store.DropNewest:
		return store.Dropped
	}
	return store.Refused
}

// evict makes room for a message.
func (q *plainQueue) evict(e store.Entry, now time.Time) int {
	victims := q.in(store.StateDelayed)
	slices.SortFunc(victims, func(a, b *plainMessage) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.Seq, b.Seq)) })
	victims = append(q.in(store.StateReady), victims...)
	n := 0
	for ; !q.fits(e, store.StateReady|store.StateDelayed|store.StateLeased); n++ {
		q.remove(victims[n], store.Evicted, now)
	}
	return n
}

func (q *plainQueue) accept(e store.Entry, now time.Time) store.Seq {
	due := later(now, e.Delay)
	if e.NotBefore.After(due) {
		due = ceil(e.NotBefore)
	}
	if g := q.groups[e.Group]; q.settings.Mode == store.FIFO && e.InOrder && g != nil && g.inOrder.After(due) {
		due = g.inOrder
	}
	d := store.Delivery{Payload: slices.Clone(e.Payload), Size: e.Size, SentAt: now, Group: e.Group, Priority: e.Priority}
	if e.TTL > 0 {
		d.ExpiresAt = later(now, e.TTL)
	}
	m := &plainMessage{Delivery: d}
	q.add(m, now, due)
	if q.settings.Mode == store.FIFO && e.InOrder {
		q.groups[e.Group].inOrder = due
	}
	if e.Dedup != (store.DedupKey{}) && q.settings.DedupWindow > 0 {
		q.dedup[e.Dedup] = plainKey{m.Seq, later(now, q.settings.DedupWindow)}
	}
	return m.Seq
}
