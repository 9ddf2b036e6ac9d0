package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// plain is the contract in the simplest code there is: every message is a struct in a slice, every question a walk over
// all of them. Random histories compare backends with it. It serves one caller at a time.
//
// Where the contract leaves a choice it does what the state machine of this module does: retention is counted in whole
// ticks, and what is past it stays until a claim or a sweep meets it.
type plain struct {
	clock    *Clock
	queues   map[store.QueueID]*plainQueue
	keys     map[string]store.Pair
	revision store.Revision
}

type plainQueue struct {
	settings store.Settings
	next     store.Seq
	token    store.Token
	messages []*plainMessage
	moved    []store.Seq // to another queue
	once     map[[16]byte]plainOnce
}

type plainMessage struct {
	store.Delivery // but for Receives, which is added up when it is delivered
	state          plainState
	avail          int64 // the tick in which it first became available
	waited         bool  // it never was available
	due            time.Time
	token          store.Token
	reason         string
}

type plainState uint8

const (
	plainReady plainState = iota
	plainDelayed
	plainLeased
	plainDead
)

type plainOnce struct {
	store.Once
	result store.SendResult
	ends   time.Time
}

var _ store.Store = (*plain)(nil)

func newPlain(c *Clock) *plain {
	return &plain{clock: c, queues: make(map[store.QueueID]*plainQueue), keys: make(map[string]store.Pair)}
}

func (s *plain) Watch(func(store.QueueID)) {}

func (s *plain) Ping(context.Context) error { return nil }

func (s *plain) Info() store.Info {
	return store.Info{Name: "plain", Promise: "what the contract says"}
}

func (s *plain) Close() error { return nil }

// queue finds a queue and lets the time that passed have its effect.
func (s *plain) queue(id store.QueueID) (*plainQueue, time.Time, error) {
	q := s.queues[id]
	if q == nil {
		return nil, time.Time{}, store.ErrGone
	}
	now := s.clock.Now()
	q.pass(now)
	return q, now, nil
}

// current does the same for a call that was resolved against a revision.
func (s *plain) current(id store.QueueID, revision uint64) (*plainQueue, time.Time, error) {
	q := s.queues[id]
	if q != nil && q.settings.Revision != revision {
		return nil, time.Time{}, store.ErrStaleConfig
	}
	return s.queue(id)
}

// pass ends the delays and leases that are due.
func (q *plainQueue) pass(now time.Time) {
	for _, m := range q.messages {
		if (m.state == plainDelayed || m.state == plainLeased) && !m.due.After(now) {
			if m.state == plainLeased && q.spent(m) && !q.settings.Lazy {
				m.state = plainDead
			} else {
				m.offer(m.due)
			}
		}
	}
}

func (m *plainMessage) offer(at time.Time) {
	if m.waited {
		m.avail, m.waited = tick(at), false
	}
	m.state = plainReady
}

func tick(at time.Time) int64 { return at.UnixMilli() / store.Tick.Milliseconds() }

// spent says that a message had all its deliveries.
func (q *plainQueue) spent(m *plainMessage) bool {
	return q.settings.MaxReceives > 0 && m.Entered >= q.settings.MaxReceives
}

func (q *plainQueue) expiry(m *plainMessage) time.Time {
	return time.UnixMilli((m.avail + 1) * store.Tick.Milliseconds()).Add(q.settings.Retention)
}

func (q *plainQueue) expired(m *plainMessage, now time.Time) bool {
	return q.settings.Retention > 0 && !q.expiry(m).After(now)
}

// in lists the messages of a state in the order in which they are offered.
func (q *plainQueue) in(state plainState) []*plainMessage {
	var list []*plainMessage
	for _, m := range q.messages {
		if m.state == state {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *plainMessage) int { return cmp.Or(cmp.Compare(a.avail, b.avail), cmp.Compare(a.Seq, b.Seq)) })
	return list
}

func (q *plainQueue) remove(m *plainMessage) {
	q.messages = slices.DeleteFunc(q.messages, func(other *plainMessage) bool { return other == m })
}

func (q *plainQueue) nextDue(now time.Time) time.Duration {
	due := store.NoDue
	for _, m := range q.messages {
		switch {
		case m.state == plainDelayed || m.state == plainLeased:
			due = min(due, max(m.due.Sub(now), 0))
		case q.settings.Retention > 0:
			due = min(due, max(q.expiry(m).Sub(now), 0))
		}
	}
	return due
}

// add appends a message that may be claimed at due.
func (q *plainQueue) add(m *plainMessage, now, due time.Time) {
	m.Seq, m.avail = q.next, tick(now)
	q.next++
	if due.After(now) {
		m.state, m.due, m.waited = plainDelayed, due, true
	}
	q.messages = append(q.messages, m)
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
			r.Duplicate, r.Note, r.NextDue = true, first.Note, q.nextDue(now)
			return r, nil
		}
	}
	r := store.SendResult{First: q.next, Count: len(p.Entries), SentAt: now}
	for _, e := range p.Entries {
		due := now.Add(e.Delay)
		if e.NotBefore.After(due) {
			due = e.NotBefore
		}
		q.add(&plainMessage{Delivery: store.Delivery{Payload: e.Payload, Size: e.Size, SentAt: now}}, now, due)
	}
	if p.Once != nil {
		q.once[p.Once.Key] = plainOnce{*p.Once, r, now.Add(p.Once.Window)}
	}
	r.NextDue = q.nextDue(now)
	return r, nil
}

func (s *plain) Claim(_ context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	q, now, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.ClaimResult{}, err
	}
	r := store.ClaimResult{Token: q.token + 1, Deadline: now.Add(p.Visibility)}
	var size int64
	for _, m := range q.in(plainReady) {
		switch {
		case len(r.Messages) == p.Max:
		case q.expired(m, now):
			q.remove(m)
			continue
		case q.spent(m):
			m.state = plainDead
			r.Died++
			continue
		case len(r.Messages) == 0 || size+int64(m.Size) <= p.MaxBytes:
			size += int64(m.Size)
			m.state, m.due, m.token = plainLeased, r.Deadline, r.Token
			m.Entered++
			r.Messages = append(r.Messages, m.deliver())
			continue
		}
		break
	}
	if len(r.Messages) > 0 {
		q.token = r.Token
	}
	r.Ready = len(q.in(plainReady)) > 0 // more than these, though a lease of zero has ended
	q.pass(now)
	r.NextDue = q.nextDue(now)
	return r, nil
}

func (m *plainMessage) deliver() store.Delivery {
	d := m.Delivery
	d.Receives = d.Entered
	if d.Origin != nil {
		d.Receives += d.Origin.Receives
	}
	return d
}

func (s *plain) Settle(_ context.Context, p store.SettleParams) (store.SettleResult, error) {
	q, now, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.SettleResult{}, err
	}
	var r store.SettleResult
	for _, i := range p.Items {
		r.Outcomes = append(r.Outcomes, q.settle(i, p.Strict, now))
	}
	r.NextDue = q.nextDue(now)
	return r, nil
}

func (q *plainQueue) settle(i store.SettleItem, strict bool, now time.Time) store.Outcome {
	at := slices.IndexFunc(q.messages, func(m *plainMessage) bool { return m.Seq == i.Seq })
	if at < 0 && slices.Contains(q.moved, i.Seq) {
		return store.Lost
	}
	if at < 0 {
		return store.Gone
	}
	m := q.messages[at]
	switch {
	case m.token == 0, m.token != i.Token, m.state == plainDead, strict && m.state != plainLeased,
		i.Target == store.Leased && m.state == plainDelayed,
		i.Uncount && m.state == plainReady:
		return store.Lost
	case i.Target == store.Ready && m.state == plainDelayed:
		return store.Settled // it was given back already
	}
	if i.Reason != "" {
		m.reason = i.Reason
	}
	m.due = now.Add(i.After)
	switch i.Target {
	case store.Done:
		q.remove(m)
	case store.Dead:
		m.state = plainDead
	case store.Leased:
		m.state = plainLeased
	case store.Ready:
		if i.Uncount {
			m.Entered--
		} else if q.spent(m) && !q.settings.Lazy {
			m.state = plainDead
			return store.Died
		}
		m.state = plainDelayed
	}
	q.pass(now)
	if m.state == plainDead && i.Target != store.Dead {
		return store.Died
	}
	return store.Settled
}

func (s *plain) Move(_ context.Context, p store.MoveParams) (store.MoveResult, error) {
	source, now, err := s.queue(p.Source)
	if err != nil {
		return store.MoveResult{}, err
	}
	target, _, err := s.queue(p.Target)
	if err != nil {
		return store.MoveResult{}, err
	}
	var r store.MoveResult
	for _, m := range source.in(plainDead) {
		if r.Moved == p.Limit {
			break
		}
		r.Moved++
		source.remove(m)
		source.moved = append(source.moved, m.Seq)
		o := store.Origin{Queue: p.Source, Seq: m.Seq, SentAt: m.SentAt}
		if m.Origin != nil {
			o = *m.Origin
		}
		o.Receives += m.Entered
		o.Label, o.Reason, o.MovedAt = p.Label, m.reason, now
		target.add(&plainMessage{Delivery: store.Delivery{Payload: m.Payload, Size: m.Size, SentAt: o.SentAt, Origin: &o}}, now, now)
	}
	r.Left, r.NextDue = int64(len(source.in(plainDead))), target.nextDue(now)
	return r, nil
}

func (s *plain) Sweep(_ context.Context, id store.QueueID) (store.SweepResult, error) {
	q, now, err := s.queue(id)
	if err != nil {
		return store.SweepResult{}, err
	}
	var r store.SweepResult
	for _, m := range append(q.in(plainReady), q.in(plainDead)...) {
		if q.expired(m, now) {
			q.remove(m)
			r.Expired++
		}
	}
	r.Ready, r.Dead, r.NextDue = int64(len(q.in(plainReady))), int64(len(q.in(plainDead))), q.nextDue(now)
	return r, nil
}

func (s *plain) Stats(_ context.Context, id store.QueueID) (store.Stats, error) {
	q, now, err := s.queue(id)
	if err != nil {
		return store.Stats{}, err
	}
	r := store.Stats{OldestAge: -1, Revision: q.settings.Revision, NextDue: q.nextDue(now)}
	for _, m := range q.messages {
		r.Bytes += int64(m.Size)
	}
	ready := q.in(plainReady)
	if len(ready) > 0 {
		r.OldestAge = now.Sub(time.UnixMilli(ready[0].avail * store.Tick.Milliseconds()))
	}
	r.Ready, r.Leased = int64(len(ready)), int64(len(q.in(plainLeased)))
	r.Delayed, r.Dead = int64(len(q.in(plainDelayed))), int64(len(q.in(plainDead)))
	return r, nil
}

func (s *plain) Configure(_ context.Context, id store.QueueID, settings store.Settings) error {
	q := s.queues[id]
	if q == nil {
		q = &plainQueue{next: 1, once: make(map[[16]byte]plainOnce)}
		s.queues[id] = q
	}
	if settings.Revision > q.settings.Revision {
		q.pass(s.clock.Now()) // what ended before now ended under the old settings
		q.settings = settings
	}
	return nil
}

func (s *plain) Drop(_ context.Context, id store.QueueID) error {
	delete(s.queues, id)
	return nil
}

func (s *plain) Queues(_ context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	var list []store.QueueID
	for id := range s.queues {
		if id > after {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list[:min(len(list), limit)], nil
}

func (s *plain) Get(_ context.Context, key string) (store.Pair, error) {
	p, there := s.keys[key]
	if !there {
		return p, store.ErrNotFound
	}
	return p, nil
}

func (s *plain) Put(_ context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if prev != store.AnyRevision && prev != s.keys[key].Revision {
		return 0, store.ErrConflict
	}
	s.revision++
	s.keys[key] = store.Pair{Key: key, Value: value, Revision: s.revision}
	return s.revision, nil
}

func (s *plain) Delete(_ context.Context, key string, prev store.Revision) error {
	if prev != store.AnyRevision && prev != s.keys[key].Revision {
		return store.ErrConflict
	}
	delete(s.keys, key)
	return nil
}

func (s *plain) List(_ context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	var list []store.Pair
	for key, p := range s.keys {
		if strings.HasPrefix(key, prefix) && key > after {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b store.Pair) int { return strings.Compare(a.Key, b.Key) })
	return list[:min(len(list), limit)], nil
}
