package storetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// plain is the contract in the simplest code there is: every message is a struct in a slice, every question a walk over
// all of them. Random histories compare backends with it. It serves one caller at a time, watches nobody and never
// forgets what it may forget.
//
// Where the contract leaves a choice it does what the state machine of this module does: queue time is whole
// milliseconds, ages are whole ticks, and what is late stays until a claim or a sweep meets it. Groups of which nothing
// depended become known anew when they begin to take turns.
type plain struct {
	clock    *Clock
	queues   map[store.QueueID]*plainQueue
	logs     map[store.LogID]*plainLog
	keys     map[string]store.Pair
	revision store.Revision
}

type plainQueue struct {
	id       store.QueueID
	settings store.Settings
	next     store.Seq
	token    store.Token
	messages []*plainMessage        // by sequence
	groups   map[string]*plainGroup // those with messages
	turn     int                    // of the group that was served last
	ahead    time.Time              // what the rate has counted
	moved    []store.Seq            // to another queue
	past     []plainPast            // what was removed last
	once     map[[16]byte]plainOnce
	dedup    map[store.DedupKey]plainKey
	attempts map[[16]byte]plainAttempt
}

type plainMessage struct {
	store.Delivery // but for Receives and AvailableAt, which follow when it is shown
	state          store.States
	avail          int64 // the tick in which it first became available
	waited         bool  // it never was available
	locks          bool  // it is delayed because it was given back
	due            time.Time
	token          store.Token
	consumer       string
	leasedAt       time.Time
	reason         string
	visits         []store.Visit
}

type plainGroup struct {
	turn    int       // when it was served last
	ahead   time.Time // what its rate has counted
	inOrder time.Time // when the last message sent in order is due
}

var _ store.Store = (*plain)(nil)

func newPlain(c *Clock) *plain {
	return &plain{clock: c, queues: make(map[store.QueueID]*plainQueue), logs: make(map[store.LogID]*plainLog), keys: make(map[string]store.Pair)}
}

func (s *plain) Watch(func(store.QueueID)) {}

func (s *plain) Ping(context.Context) error { return nil }

func (s *plain) Info() store.Info {
	return store.Info{Name: "plain", Promise: "what the contract says"}
}

func (s *plain) Clock() store.Clock {
	return store.Clock{Now: store.Instant(s.now().UnixMilli()), Wall: s.now()}
}

func (s *plain) Close() error { return nil }

func (s *plain) now() time.Time { return time.UnixMilli(s.clock.Now().UnixMilli()).UTC() }

// later is the time after a duration, in whole milliseconds, so that nothing becomes due early.
func later(at time.Time, d time.Duration) time.Time { return ceil(at.Add(max(d, 0))) }

func ceil(at time.Time) time.Time {
	return at.Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
}

func tick(at time.Time) int64 { return at.UnixMilli() / store.Tick.Milliseconds() }

func tickTime(n int64) time.Time { return time.UnixMilli(n * store.Tick.Milliseconds()).UTC() }

// queue finds a queue and lets the time that passed have its effect.
func (s *plain) queue(id store.QueueID) (*plainQueue, time.Time, error) {
	q := s.queues[id]
	if q == nil {
		return nil, time.Time{}, store.ErrGone
	}
	q.pass(s.now())
	return q, s.now(), nil
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
		if m.state&(store.StateDelayed|store.StateLeased) == 0 || m.due.After(now) {
			continue
		}
		spent := m.state == store.StateLeased && q.spent(m) && !q.settings.Lazy
		m.end(store.RanOut, m.due, "")
		m.available(m.due)
		m.state, m.locks = store.StateReady, false
		if spent {
			m.state = store.StateDead
		}
	}
}

// available notes when a message became available, if that is the first time.
func (m *plainMessage) available(at time.Time) {
	if m.waited {
		m.avail, m.waited = tick(at), false
	}
}

// end remembers how the present delivery ended, if there is one.
func (m *plainMessage) end(how store.End, at time.Time, reason string) {
	if m.state != store.StateLeased {
		return
	}
	m.visits = append(m.visits, store.Visit{LeasedAt: m.leasedAt, EndedAt: at, Consumer: m.consumer, End: how, Reason: reason})
	m.visits = m.visits[max(0, len(m.visits)-15):]
}

// bury makes a message dead.
func (m *plainMessage) bury(now time.Time) {
	m.available(now)
	m.state, m.locks = store.StateDead, false
}

// spent says that a message had all its deliveries.
func (q *plainQueue) spent(m *plainMessage) bool {
	return q.settings.MaxReceives > 0 && m.Entered >= q.settings.MaxReceives
}

func (q *plainQueue) expiry(m *plainMessage) time.Time {
	return tickTime(m.avail + 1).Add(q.settings.Retention)
}

// aged says that a message is past its retention.
func (q *plainQueue) aged(m *plainMessage, now time.Time) bool {
	return q.settings.Retention > 0 && !m.waited && !q.expiry(m).After(now)
}

// lapsed says that a message is past its time to live.
func (m *plainMessage) lapsed(now time.Time) bool {
	return !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(now)
}

// until is when a lease or a delay ends that should end at a time: no later than the retention.
func (q *plainQueue) until(m *plainMessage, at time.Time) time.Time {
	if end := q.expiry(m); q.settings.Retention > 0 && !m.waited && end.Before(at) {
		return end
	}
	return at
}

// in lists the messages in some states, the oldest first.
func (q *plainQueue) in(states store.States) []*plainMessage {
	list := filter(q.messages, func(m *plainMessage) bool { return m.state&states != 0 })
	slices.SortFunc(list, byAge)
	return list
}

func filter(list []*plainMessage, keep func(*plainMessage) bool) []*plainMessage {
	var kept []*plainMessage
	for _, m := range list {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

func byAge(a, b *plainMessage) int {
	return cmp.Or(cmp.Compare(a.avail, b.avail), cmp.Compare(a.Seq, b.Seq))
}

func (q *plainQueue) count(state store.States) int64 { return int64(len(q.in(state))) }

func (q *plainQueue) find(seq store.Seq) *plainMessage {
	for _, m := range q.messages {
		if m.Seq == seq {
			return m
		}
	}
	return nil
}

// add appends a message that may be claimed at due.
func (q *plainQueue) add(m *plainMessage, now, due time.Time) {
	m.Seq, m.avail, m.state = q.next, tick(now), store.StateReady
	q.next++
	if due.After(now) {
		m.state, m.due, m.waited = store.StateDelayed, due, true
	}
	q.messages = append(q.messages, m)
	q.join(m)
}

// join makes the group of a message known.
func (q *plainQueue) join(m *plainMessage) {
	if q.groups[m.Group] == nil {
		q.turn++
		q.groups[m.Group] = &plainGroup{turn: q.turn}
	}
}

// remove takes a message out of the queue, and its group with it if it was the last.
func (q *plainQueue) remove(m *plainMessage, how store.Removal, now time.Time) {
	q.messages = slices.DeleteFunc(q.messages, func(other *plainMessage) bool { return other == m })
	if !slices.ContainsFunc(q.messages, func(other *plainMessage) bool { return other.Group == m.Group }) {
		delete(q.groups, m.Group)
	}
	q.remember(m, how, now)
}

func (s *plain) Configure(_ context.Context, id store.QueueID, settings store.Settings) error {
	q := s.queues[id]
	if q == nil {
		q = &plainQueue{
			id: id, next: 1, groups: make(map[string]*plainGroup), once: make(map[[16]byte]plainOnce),
			dedup: make(map[store.DedupKey]plainKey), attempts: make(map[[16]byte]plainAttempt),
		}
		s.queues[id] = q
	}
	if settings.Revision > q.settings.Revision {
		q.pass(s.now()) // what ended before now ended under the old settings
		if byGroup(settings) && !byGroup(q.settings) {
			clear(q.groups) // nobody took turns: all begin anew
			for _, m := range q.messages {
				q.join(m)
			}
		}
		q.settings = settings
		q.trim()
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
