package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Send appends messages in order. A message that is refused does not stop the others. Accepted means durable. An
// idempotency key is remembered with the messages, so one whose messages were all refused is not: nothing was done
// that could be done twice.
func (e *Engine) Send(ctx context.Context, ref Ref, req SendRequest) (SendAnswer, error) {
	if n := len(req.Messages); n < 1 || n > MaxBatch {
		return SendAnswer{}, invalid("messages", fmt.Sprintf("Give 1 to %d messages; these are %d.", MaxBatch, n))
	}
	if err := req.Key.validate(); err != nil {
		return SendAnswer{}, err
	}
	q, s, err := e.lookup(ctx, ref)
	if err != nil {
		return SendAnswer{}, err
	}
	for reloads := 0; ; reloads++ {
		o := newOutgoing(&s.config, req.Messages)
		if len(o.entries) == 0 {
			return SendAnswer{Outcomes: o.outcomes}, nil
		}
		p := store.SendParams{Queue: q.id, Revision: uint64(s.revision), Entries: o.entries}
		if req.Key != nil {
			p.Once = once(ref.Tenant, req, o.outcomes)
		}
		res, err := e.store.Send(ctx, p)
		if err == nil {
			return e.sent(q, o, res)
		}
		if !isStale(err) || reloads == maxReloads {
			return SendAnswer{}, fromStore(fmt.Errorf("send to %s: %w", ref, err))
		}
		if q, s, err = e.reload(ctx, ref, s); err != nil {
			return SendAnswer{}, err
		}
	}
}

// outgoing is a request made ready for the store: an entry for each message that is not refused.
type outgoing struct {
	entries  []store.Entry
	outcomes []SendOutcome
	bytes    int64
}

// newOutgoing encodes all messages into one buffer, which the entries share.
func newOutgoing(c *QueueConfig, messages []Message) outgoing {
	o := outgoing{
		entries:  make([]store.Entry, 0, len(messages)),
		outcomes: make([]SendOutcome, len(messages)),
	}
	room := 0
	for i := range messages {
		room += payloadBound(&messages[i])
	}
	buffer := make([]byte, 0, room)
	for i := range messages {
		m := &messages[i]
		if m.Refused != nil {
			o.outcomes[i].Err = m.Refused
			continue
		}
		size := messageSize(m)
		if err := m.validate(i, size, c.MaxMessageBytes); err != nil {
			o.outcomes[i].Err = err
			continue
		}
		start := len(buffer)
		buffer = append(appendHead(buffer, m), m.Body...)
		entry := store.Entry{Payload: buffer[start:len(buffer):len(buffer)], Size: uint32(size)}
		entry.Delay, entry.NotBefore = m.delay(c)
		o.entries = append(o.entries, entry)
		o.bytes += size
	}
	return o
}

// sent names the messages that were accepted.
func (e *Engine) sent(q *queue, o outgoing, res store.SendResult) (SendAnswer, error) {
	e.dueIn(q, res.NextDue)
	if res.Duplicate {
		if e.events.Duplicate != nil {
			e.events.Duplicate(q.ref)
		}
		if err := recall(o.outcomes, res.Note); err != nil {
			return SendAnswer{}, fromStore(fmt.Errorf("read the first outcome of a send to %s: %w", q.ref, err))
		}
	} else if e.events.Sent != nil {
		e.events.Sent(q.ref, len(o.entries), o.bytes)
	}
	seq := res.First
	for i := range o.outcomes {
		if out := &o.outcomes[i]; out.Err == nil {
			e.ids.put(&out.ID, q.id, seq)
			seq++
		}
	}
	return SendAnswer{Outcomes: o.outcomes, Duplicate: res.Duplicate}, nil
}

// delay is how long the message is kept back and until when. A message with a time of its own is not subject to the
// queue's delay.
func (m *Message) delay(c *QueueConfig) (d time.Duration, notBefore time.Time) {
	if m.DeliverAt != nil && m.DeliverAt.After(time.Unix(0, 0)) {
		notBefore = *m.DeliverAt
	}
	switch {
	case m.Delay != nil:
		d = *m.Delay
	case m.DeliverAt == nil:
		d = c.Delay
	}
	return d, notBefore
}
