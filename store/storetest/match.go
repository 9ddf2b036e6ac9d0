package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// match compares what was found with what the clients know. The call of a client that was not answered has taken
// effect as a whole or not at all.
func (w *world) match(f *found) error {
	var errs []error
	for _, c := range w.clients {
		problems := c.known.problems(c.id, f)
		if problems != nil && c.doubt != nil {
			unlucky := c.doubt.problems(c.id, f)
			if unlucky == nil {
				continue
			}
			problems = fmt.Errorf("if the last call had no effect:\n%w\nif it had:\n%w", problems, unlucky)
		}
		if problems != nil {
			errs = append(errs, fmt.Errorf("client %d:\n%w", c.id, problems))
		}
	}
	return errors.Join(errs...)
}

// matchesEarlier says that what was found is what each client knew before some of its last calls.
func (w *world) matchesEarlier(f *found) bool {
	for _, c := range w.clients {
		if !slices.ContainsFunc(append([]*ledger{c.known}, c.before...), func(l *ledger) bool { return l.problems(c.id, f) == nil }) {
			return false
		}
	}
	return true
}

// mismatch collects what is wrong.
type mismatch struct{ errs []error }

func (m *mismatch) add(format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf("  "+format, args...))
}

// problems lists what a client finds wrong in what is there.
func (l *ledger) problems(client int, f *found) error {
	m := &mismatch{}
	for id, q := range f.queues {
		if int(id>>32) != client+1 {
			continue
		}
		known, there := l.queues[id]
		if !there {
			m.add("queue %x is there with %+v, and should not be; dropped: %v", uint64(id), q.stats, l.dropped[id])
			continue
		}
		m.queue(id, known, q, f.at)
	}
	for id := range l.queues {
		if f.queues[id] == nil {
			m.add("queue %x is missing", uint64(id))
		}
	}
	m.logs(client, l, f)
	m.pairs(client, l, f)
	return errors.Join(m.errs...)
}

func (m *mismatch) pairs(client int, l *ledger, f *found) {
	prefix := fmt.Sprintf("%d/", client)
	for key, p := range f.keys {
		if len(key) < len(prefix) || key[:len(prefix)] != prefix {
			continue
		}
		known, there := l.keys[key]
		if !there || known.value != string(p.Value) || known.revision != 0 && known.revision != p.Revision {
			m.add("key %s: found %.40q at revision %d, want %.40q at %d", key, p.Value, p.Revision, known.value, known.revision)
		}
	}
	for key := range l.keys {
		if _, there := f.keys[key]; !there {
			m.add("key %s is missing", key)
		}
	}
	if f.revision <= l.revision {
		m.add("a put got revision %d, want above %d", f.revision, l.revision)
	}
}

// place is where a message was found.
type place uint8

const (
	inReady place = iota
	inLater
	inDead
)

func (p place) String() string { return [...]string{"ready", "leased or delayed", "dead"}[p] }

func (m *mismatch) queue(id store.QueueID, known *queueLedger, q *foundQueue, at time.Time) {
	if q.stats.Revision != known.settings.Revision {
		m.add("queue %x: found revision %d, want %d", uint64(id), q.stats.Revision, known.settings.Revision)
	}
	seen := make(map[uint64]bool)
	for where, list := range [][]store.Delivery{q.ready, q.later, q.dead} {
		var before []message
		for _, d := range list {
			msg, ok := m.identify(id, known, d)
			if !ok {
				continue
			}
			if seen[msg.number] {
				m.add("queue %x: message %x is there twice", uint64(id), msg.number)
			}
			seen[msg.number] = true
			m.message(id, known, msg, d, place(where), at)
			if at := slices.IndexFunc(before, func(b message) bool { return known.outOfOrder(b, msg, place(where)) }); at >= 0 {
				m.add("queue %x: message %x was found after %x", uint64(id), msg.number, before[at].number)
			}
			before = append(before, msg)
		}
	}
	for number, msg := range known.messages {
		if !seen[number] && !known.expired(msg, at) {
			m.add("queue %x: message %x is missing: %v", uint64(id), number, msg)
		}
	}
	m.counts(id, known.settings.Mode, q)
	m.once(id, known, q)
	m.dedup(id, known, q)
	m.forward(id, known, q)
}

// identify finds which message a delivery is, and checks every byte of it.
func (m *mismatch) identify(id store.QueueID, known *queueLedger, d store.Delivery) (message, bool) {
	if len(d.Payload) < 8 {
		m.add("queue %x: seq %d has a payload of %d bytes, which nobody sent", uint64(id), d.Seq, len(d.Payload))
		return message{}, false
	}
	number := binary.BigEndian.Uint64(d.Payload)
	msg, there := known.messages[number]
	if !there {
		m.add("queue %x: seq %d is message %x, which was never sent there or was deleted", uint64(id), d.Seq, number)
		return message{}, false
	}
	if d.Group != msg.group {
		m.add("queue %x: message %x is of group %q, want %q", uint64(id), number, d.Group, msg.group)
	}
	if !intact(d, msg) {
		m.add("queue %x: message %x has a payload of %d bytes that are not those that were sent", uint64(id), number, len(d.Payload))
	}
	return msg, true
}

// message checks where a message is and what is known of its past.
func (m *mismatch) message(id store.QueueID, known *queueLedger, msg message, d store.Delivery, where place, at time.Time) {
	if !allowed(known, msg, where, at) {
		m.add("queue %x: message %x is %v at %v: %v", uint64(id), msg.number, where, at.Sub(epoch), msg)
	}
	if where == inDead {
		m.dead(id, msg, d)
		return
	}
	if msg.seq != 0 && d.Seq != msg.seq {
		m.add("queue %x: message %x has seq %d, want %d", uint64(id), msg.number, d.Seq, msg.seq)
	}
	if d.Entered <= msg.sure || d.Entered > msg.receives+1 {
		m.add("queue %x: message %x was delivered %d times, want %d to %d", uint64(id), msg.number, d.Entered, msg.sure+1, msg.receives+1)
	}
	m.origin(id, msg, d.Origin, msg.origin)
}

// dead checks a message that the observer moved out to look at.
func (m *mismatch) dead(id store.QueueID, msg message, d store.Delivery) {
	if d.Origin == nil {
		m.add("queue %x: dead message %x has no origin after a move", uint64(id), msg.number)
		return
	}
	want := msg.moved(store.MoveParams{Source: id, Label: "observed"}, d.Origin.MovedAt).origin
	if want.Seq == 0 && msg.origin == nil {
		want.Seq = d.Origin.Seq
	}
	m.origin(id, msg, d.Origin, want)
}

func (m *mismatch) origin(id store.QueueID, msg message, got, want *store.Origin) {
	if (got == nil) != (want == nil) {
		m.add("queue %x: message %x has origin %+v, want %+v", uint64(id), msg.number, got, want)
		return
	}
	if got == nil {
		return
	}
	g, w := *got, *want
	g.SentAt, g.MovedAt = g.SentAt.UTC(), g.MovedAt.UTC()
	if g != w {
		m.add("queue %x: message %x has origin %+v, want %+v", uint64(id), msg.number, g, w)
	}
}

// allowed says whether a message may be where it was found.
func allowed(q *queueLedger, msg message, where place, at time.Time) bool {
	if q.expired(msg, at) {
		return true // retention ended what held it, if anything did
	}
	if q.settings.Mode == store.FIFO && where == inLater && q.state(msg, at) == isReady {
		return q.mayWait(msg, at)
	}
	if msg.due.After(at) && !msg.dead {
		return where == inLater // a delay, a backoff and a lease that a settle set all survive
	}
	switch q.state(msg, at) {
	case isReady:
		return where == inReady
	case isHeld:
		return where == inLater || where == inReady // a crash may forget the lease
	case isSpent:
		forgotten := where == inReady || where == inLater && q.settings.Mode == store.FIFO && q.mayWait(msg, at)
		return where == inDead || msg.sure < q.settings.MaxReceives && forgotten
	case isDead:
		return where == inDead
	}
	return false
}

// mayWait says that a ready message of a FIFO queue may have to wait for another one of its group.
func (q *queueLedger) mayWait(msg message, at time.Time) bool {
	return slices.ContainsFunc(q.inState(at, isHeld), func(m message) bool {
		return m.group == msg.group && (m.lease.After(at) || m.backsOff)
	})
}

// outOfOrder says that b is offered before a. Times are whole seconds, so ticks do not matter. Between groups that take
// turns there is no order. The dead are moved oldest first.
func (q *queueLedger) outOfOrder(a, b message, where place) bool {
	switch {
	case a.early || b.early:
		return false
	case where == inDead:
	case q.settings.Mode != store.Standard && a.group != b.group:
		return false
	case q.settings.Mode == store.FIFO:
		return a.place > b.place
	}
	return a.avail.After(b.avail) || a.avail.Equal(b.avail) && a.place > b.place
}

// dedup checks that keys are remembered, and no others.
func (m *mismatch) dedup(id store.QueueID, known *queueLedger, q *foundQueue) {
	for key, fate := range q.dedup {
		seq, used := known.dedup[key]
		if (fate.Verdict == store.Duplicate) != used || used && seq != 0 && fate.Seq != seq {
			m.add("queue %x: a message under key %d was %+v, want a duplicate of %d: %v", uint64(id), key, fate, seq, used)
		}
	}
}

// counts compares what a queue said with what was in it.
func (m *mismatch) counts(id store.QueueID, mode store.Mode, q *foundQueue) {
	var size int64
	for _, list := range [][]store.Delivery{q.ready, q.later, q.dead} {
		for _, d := range list {
			size += int64(d.Size)
		}
	}
	got := counts{q.stats.Ready, q.stats.Leased + q.stats.Delayed, 0, q.stats.Dead, q.stats.Bytes}
	want := counts{int64(len(q.ready)), int64(len(q.later)), 0, int64(len(q.dead)), size}
	if mode == store.FIFO { // what is ready in a locked group is found later
		got.Ready, got.Leased = got.Ready+got.Leased, 0
		want.Ready, want.Leased = want.Ready+want.Leased, 0
	}
	if got != want {
		m.add("queue %x counts %+v; found were %d ready, %d leased or delayed and %d dead, with %d bytes",
			uint64(id), q.stats, len(q.ready), len(q.later), len(q.dead), size)
	}
}

func (m *mismatch) once(id store.QueueID, known *queueLedger, q *foundQueue) {
	for key, r := range q.once {
		first, used := known.once[key]
		switch {
		case r.Duplicate != used:
			m.add("queue %x: a send under key %d was a repeat: %v, want %v", uint64(id), key, r.Duplicate, used)
		case used && (first.first != 0 && r.First != first.first || r.Count != first.count || string(r.Note) != first.note):
			m.add("queue %x: a repeat under key %d got %+v, want %+v", uint64(id), key, r, first)
		}
	}
}

// forward checks that numbers, tokens and time go on from the highest that were shown.
func (m *mismatch) forward(id store.QueueID, known *queueLedger, q *foundQueue) {
	if q.marker.First <= known.last {
		m.add("queue %x: a new message got seq %d, want above %d", uint64(id), q.marker.First, known.last)
	}
	if q.token <= known.token {
		m.add("queue %x: a new claim got token %d, want above %d", uint64(id), q.token, known.token)
	}
	if q.marker.SentAt.Before(known.at) {
		m.add("queue %x: a new message was sent at %v, want not before %v", uint64(id), q.marker.SentAt, known.at)
	}
}
