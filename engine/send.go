package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

// Send appends messages in order. A message that is refused does not stop the others. Accepted means durable. An
// idempotency key is remembered with the messages, so one whose messages were all refused is not: nothing was done
// that could be done twice.
//
// A full queue refuses messages or has something give way, as its limits say. With [OverflowBlock] the send waits until
// all of them fit or are duplicates, as long as a receive of the queue would wait, or 30 seconds if that is not at all;
// it does not wait for what would not even fit into an empty queue.
func (e *Engine) Send(ctx context.Context, ref Ref, req SendRequest) (SendAnswer, error) {
	if n := len(req.Messages); n < 1 || n > MaxBatch {
		return SendAnswer{}, invalid("messages", fmt.Sprintf("Give 1 to %d messages; these are %d.", MaxBatch, n))
	}
	if err := firstError(req.Key.validate(), validAsked(req.Acks)); err != nil {
		return SendAnswer{}, err
	}
	q, s, err := e.lookup(ctx, ref)
	if err != nil {
		return SendAnswer{}, err
	}
	block := blocked{engine: e, told: req.Waits}
	defer block.end()
	looked := false
	for reloads := 0; ; {
		if q, s, err = e.producing(ctx, q, s); err != nil {
			return SendAnswer{}, err
		}
		o, err := e.newOutgoing(ctx, &s.config, req.Messages)
		if err != nil {
			return SendAnswer{}, err
		}
		if e.shared() && o.refusals() && !looked {
			// The store need not tell that another node has changed what they were refused by.
			now, setup, err := e.present(ctx, q, s)
			if err != nil {
				return SendAnswer{}, err
			}
			if looked = true; setup != s {
				q, s = now, setup
				continue
			}
		}
		if len(o.entries) == 0 {
			return SendAnswer{Outcomes: o.outcomes}, nil
		}
		p := store.SendParams{
			Queue: q.id, Revision: uint64(s.revision), Entries: o.entries,
			Whole: s.config.Limits.Overflow == OverflowBlock,
			Acks:  s.copies(req.Acks),
		}
		if req.Key != nil {
			p.Once = once(ref.Tenant, req, o.outcomes)
		}
		block.look(q)
		res, err := e.store.Send(ctx, p)
		switch {
		case err == nil && p.Whole && !res.Duplicate && refused(res.Fates):
			if !fits(o.entries, res.Fates, &s.config.Limits) {
				return e.sent(ctx, q, s, o, res)
			}
			again, err := block.wait(ctx, s)
			if err != nil {
				return SendAnswer{}, err
			}
			if again {
				continue
			}
			return e.sent(ctx, q, s, o, res)
		case err == nil:
			return e.sent(ctx, q, s, o, res)
		case !isStale(err) || reloads == maxReloads:
			return SendAnswer{}, fromStore(fmt.Errorf("send to %s: %w", ref, err))
		}
		reloads++
		if q, s, err = e.reload(ctx, ref, s); err != nil {
			return SendAnswer{}, err
		}
	}
}

// outgoing is a request made ready for the store: an entry for each message that is not refused.
type outgoing struct {
	entries  []store.Entry
	outcomes []SendOutcome
}

// refusals says whether a message was refused.
func (o *outgoing) refusals() bool {
	return slices.ContainsFunc(o.outcomes, func(o SendOutcome) bool { return o.Err != nil })
}

// entryCost is about what a message takes on its way through engine and store besides its payload.
const entryCost = 512

// newOutgoing encodes all messages into one buffer, which the entries share.
func (e *Engine) newOutgoing(ctx context.Context, c *QueueConfig, messages []Message) (outgoing, error) {
	room := 0
	for i := range messages {
		room += payloadBound(&messages[i])
	}
	if memlimit.Full(ctx) {
		return outgoing{}, keepsTooMuch()
	}
	if err := memlimit.Charge(ctx, int64(room+entryCost*len(messages))); err != nil {
		return outgoing{}, fromStore(err)
	}
	o := outgoing{
		entries:  make([]store.Entry, 0, len(messages)),
		outcomes: make([]SendOutcome, len(messages)),
	}
	buffer := make([]byte, 0, room)
	for i := range messages {
		m := &messages[i]
		if m.Refused != nil {
			o.outcomes[i].Err = m.Refused
			continue
		}
		size := messageSize(m)
		if err := m.validate(i, size, c); err != nil {
			o.outcomes[i].Err = err
			continue
		}
		start := len(buffer)
		buffer = append(appendHead(buffer, m), m.Body...)
		entry := m.entry(c)
		entry.Payload, entry.Size = buffer[start:len(buffer):len(buffer)], uint32(size)
		entry.Displace = c.Limits.Overflow == OverflowSample && e.random.upTo(sampleOf-1) == 0
		o.entries = append(o.entries, entry)
	}
	return o, nil
}

// sampleOf is how many messages a full queue that samples keeps one of.
const sampleOf = 10

// sent says what became of each message.
func (e *Engine) sent(ctx context.Context, q *queue, s *setup, o outgoing, res store.SendResult) (SendAnswer, error) {
	e.dueIn(q, res.NextDue)
	if res.Duplicate {
		if err := recall(o.outcomes, res.Note); err != nil {
			return SendAnswer{}, fromStore(fmt.Errorf("read the first outcome of a send to %s: %w", q.ref, err))
		}
	}
	f := fates{engine: e, queue: q, setup: s, first: res.First, all: res.Fates, repeat: res.Duplicate}
	if err := f.outcomes(ctx, o.outcomes); err != nil {
		return SendAnswer{}, err
	}
	if res.Duplicate {
		if e.events.Duplicate != nil {
			e.events.Duplicate(q.ref)
		}
	} else {
		e.tellSent(q, o, res)
	}
	return SendAnswer{Outcomes: o.outcomes, Duplicate: res.Duplicate}, nil
}

func (e *Engine) tellSent(q *queue, o outgoing, res store.SendResult) {
	accepted, bytes := 0, int64(0)
	others := [store.Refused + 1]int{}
	for i := range o.entries {
		if res.Fates != nil && res.Fates[i].Verdict != store.Accepted {
			others[res.Fates[i].Verdict]++
			continue
		}
		accepted++
		q.sized(int64(o.entries[i].Size))
		bytes += int64(o.entries[i].Size)
	}
	if accepted > 0 && e.events.Sent != nil {
		e.events.Sent(q.ref, accepted, bytes)
	}
	e.countIn(q, accepted)
	e.countDropped(q, others[store.Dropped]+res.Evicted)
	tell(e.events.Deduplicated, q.ref, others[store.Duplicate])
	tell(e.events.Shed, q.ref, others[store.Dropped]+res.Evicted)
	tell(e.events.Refused, q.ref, others[store.Refused])
}
