package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// ledger is what one client, who is alone with its queues and keys, knows from the answers it was given. It is the half
// of the truth that a crash must not change.
type ledger struct {
	queues map[store.QueueID]*queueLedger
	logs   logLedgers
	keys   map[string]keyLedger
	// revision is the highest that a put returned.
	revision store.Revision
	// dropped are the generations that must not come back.
	dropped map[store.QueueID]bool
}

// queueLedger is what is known of one queue.
type queueLedger struct {
	settings store.Settings
	messages map[uint64]message // by number
	places   int                // how many messages ever arrived
	once     map[byte]onceLedger
	dedup    map[byte]store.Seq   // by key; 0 when the answer to the send never came
	inOrder  map[string]time.Time // by group, when the last message that was sent in order is due
	last     store.Seq            // the highest that a send returned
	token    store.Token          // the highest that a claim returned
	at       time.Time            // the latest instant that was shown
}

// keyLedger is a value. The revision is 0 when the answer to the put never came.
type keyLedger struct {
	value    string
	revision store.Revision
}

// onceLedger is the result that repeats get. First is 0 when the answer to the first send never came.
type onceLedger struct {
	first store.Seq
	count int
	note  string
}

// message is what is known of one message. A zero Seq was never answered.
type message struct {
	number uint64
	size   uint32
	group  string
	// place is its place in the order of arrival.
	place  int
	seq    store.Seq
	sentAt time.Time
	// avail is when it first became available in this queue.
	avail time.Time
	// due is the end of its delay, its backoff or of a lease that a settle set: a crash does not change it.
	due time.Time
	// backsOff says that it was given back, so that until it is due it locks its group in a FIFO queue.
	backsOff bool
	// lease is the end of a lease that only a claim set: a crash may forget it.
	lease time.Time
	token store.Token
	// consumer is who took it last.
	consumer string
	// receives counts deliveries in this queue, sure those that a crash cannot forget.
	receives, sure uint32
	dead           bool
	early          bool // it died before it was available
	reason         string
	// origin is set for a message that was moved here. Its Receives count the deliveries before.
	origin *store.Origin
}

func newLedger() *ledger {
	return &ledger{
		queues:  make(map[store.QueueID]*queueLedger),
		logs:    make(logLedgers),
		keys:    make(map[string]keyLedger),
		dropped: make(map[store.QueueID]bool),
	}
}

func newQueueLedger(s store.Settings) *queueLedger {
	return &queueLedger{
		settings: s, messages: make(map[uint64]message), once: make(map[byte]onceLedger),
		dedup: make(map[byte]store.Seq), inOrder: make(map[string]time.Time),
	}
}

// add appends a message.
func (q *queueLedger) add(m message) {
	q.places++
	m.place = q.places
	q.messages[m.number] = m
	q.last = max(q.last, m.seq)
}

// moved is what a message becomes in the queue it goes to.
func (m message) moved(p store.MoveParams, now time.Time) message {
	o := store.Origin{Queue: p.Source, Seq: m.seq, SentAt: m.sentAt}
	if m.origin != nil {
		o = *m.origin
	}
	o.Receives += m.receives
	o.Label, o.Reason, o.MovedAt = p.Label, m.reason, now
	return message{number: m.number, size: m.size, group: m.group, sentAt: m.sentAt, avail: now, origin: &o}
}

// clone copies the ledger, to say what holds if a call that was not answered took effect.
func (l *ledger) clone() *ledger {
	c := &ledger{queues: make(map[store.QueueID]*queueLedger), keys: maps.Clone(l.keys), revision: l.revision, dropped: maps.Clone(l.dropped)}
	c.logs = l.logs.clone()
	for id, q := range l.queues {
		copied := *q
		copied.messages, copied.once = maps.Clone(q.messages), maps.Clone(q.once)
		copied.dedup, copied.inOrder = maps.Clone(q.dedup), maps.Clone(q.inOrder)
		c.queues[id] = &copied
	}
	return c
}

// String tells what is known, with times relative to the start of the test.
func (m message) String() string {
	since := func(at time.Time) time.Duration {
		if at.IsZero() {
			return 0
		}
		return at.Sub(epoch)
	}
	return fmt.Sprintf("{seq %d of group %q, %d bytes, sent at %v, available at %v, due at %v, leased until %v, received %d (%d for sure), dead %v %q, origin %+v}",
		m.seq, m.group, m.size, since(m.sentAt), since(m.avail), since(m.due), since(m.lease), m.receives, m.sure, m.dead, m.reason, m.origin)
}

// state is where a message is, as far as the client can tell.
type state uint8

const (
	isReady state = iota
	isHeld
	isDead
	// isSpent: its last lease has ended, so it is dead; but a crash may forget the lease, and then it is ready.
	isSpent
)

func (q *queueLedger) state(m message, now time.Time) state {
	switch {
	case m.dead:
		return isDead
	case m.due.After(now) || m.lease.After(now):
		return isHeld
	case q.settings.MaxReceives > 0 && m.receives >= q.settings.MaxReceives:
		return isSpent // queues of these tests are never lazy
	}
	return isReady
}

// expired says that retention may have removed a message, also one that is in flight.
func (q *queueLedger) expired(m message, now time.Time) bool {
	return q.settings.Retention > 0 && !m.avail.Add(q.settings.Retention).After(now)
}

// inState lists messages in the order in which they are offered.
func (q *queueLedger) inState(now time.Time, states ...state) []message {
	var list []message
	for _, m := range q.messages {
		if slices.Contains(states, q.state(m, now)) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b message) int {
		return cmp.Or(a.avail.Compare(b.avail), cmp.Compare(a.place, b.place))
	})
	return list
}

// settleLeases notes that leases and deliveries have become certain: the store was closed in peace.
func (l *ledger) settleLeases() {
	for _, q := range l.queues {
		for n, m := range q.messages {
			if m.lease.After(m.due) {
				m.due = m.lease
			}
			m.sure = m.receives
			q.messages[n] = m
		}
	}
}

// sweep removes what is past retention.
func (q *queueLedger) sweep(now time.Time) {
	for n, m := range q.messages {
		if q.expired(m, now) {
			delete(q.messages, n)
		}
	}
}

// settle notes what a settle of a held message does at a moment.
func (q *queueLedger) settle(m message, i store.SettleItem, now time.Time) {
	m.sure, m.lease, m.backsOff = m.receives, time.Time{}, i.Target == store.Ready
	if i.Reason != "" {
		m.reason = i.Reason
	}
	switch i.Target {
	case store.Done:
		delete(q.messages, m.number)
		return
	case store.Dead:
		m.dead, m.early = true, m.avail.After(now)
	case store.Leased:
		m.due, m.lease = now.Add(i.After), now.Add(i.After)
	case store.Ready:
		switch {
		case i.Uncount:
			m.receives--
			m.sure = m.receives
			m.due = now.Add(i.After)
		case q.settings.MaxReceives > 0 && m.receives >= q.settings.MaxReceives:
			m.dead = true
		default:
			m.due = now.Add(i.After)
		}
	}
	q.messages[m.number] = m
}
