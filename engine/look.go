package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Looked is one message and what happened to it.
type Looked struct {
	View
	// Timeline has the oldest event first.
	Timeline []Event
}

// Event is one thing that happened to a message.
type Event struct {
	Kind EventKind
	// At is when it happened, of a delivery when it began.
	At time.Time
	// Queue is the one that a moved message came from; Receives counts the deliveries before.
	Queue    string
	Receives uint32
	// EndedAt, Consumer and Outcome are those of a delivery. The present one has not ended.
	EndedAt  time.Time
	Consumer string
	// Outcome is how a delivery ended, or how a message was removed.
	Outcome Ending
	// Reason is why a delivery was given back, or why the message died where it was before.
	Reason string
}

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	EventSent      EventKind = "sent"
	EventMoved     EventKind = "moved" // to this queue, the last time
	EventDelivered EventKind = "delivered"
	EventRemoved   EventKind = "removed"
)

// Ending is how a delivery, or a message, ended.
type Ending string

// The endings of deliveries; an acked delivery is also how its message is removed.
const (
	EndingLeased Ending = "leased" // not ended
	EndingNacked Ending = "nacked" // given back
	EndingRanOut Ending = "lease_ended"
	EndingDead   Ending = "dead" // rejected, or given back with the deliveries used up
	EndingAcked  Ending = "acked"
)

// The other endings of messages.
const (
	EndingExpired Ending = "expired" // retention or time to live
	EndingEvicted Ending = "evicted" // gave way to a newer one
	EndingMoved   Ending = "moved"   // to another queue
	EndingPurged  Ending = "purged"  // by someone who looks after the queue, also alone or as the head of its group
)

var visitEndings = map[store.End]Ending{
	store.GivenBack: EndingNacked,
	store.RanOut:    EndingRanOut,
	store.Rejected:  EndingDead,
}

var removalEndings = map[store.Removal]Ending{
	store.Acked:     EndingAcked,
	store.Aged:      EndingExpired,
	store.Evicted:   EndingEvicted,
	store.MovedAway: EndingMoved,
	store.Purged:    EndingPurged,
}

// Look shows one message, in any state, and what happened to it: in this queue at most its last 16 deliveries. One
// that was removed is not found, unless the queue keeps a history and still remembers it. It changes nothing.
func (e *Engine) Look(ctx context.Context, ref Ref, id MessageID) (Looked, error) {
	var l Looked
	err := e.follow(ctx, ref, func(q *queue, _ *setup) error {
		v, err := e.locate(ctx, q, id)
		if errors.Is(err, store.ErrNotFound) {
			return noMessage(ref, id)
		}
		if err != nil {
			return err
		}
		l, err = e.looked(q, &v)
		return err
	})
	return l, err
}

func (e *Engine) looked(q *queue, v *store.View) (Looked, error) {
	l := Looked{Timeline: timeline(v)}
	return l, e.view(&l.View, q, v)
}

func noMessage(ref Ref, id MessageID) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: "There is no message " + id.String() + " in " + ref.Name + ": it was acked, removed or moved, or never was here.",
	}
}

func timeline(v *store.View) []Event {
	events := make([]Event, 0, len(v.Visits)+4)
	if !v.SentAt.IsZero() {
		events = append(events, Event{Kind: EventSent, At: v.SentAt})
	}
	if o := v.Origin; o != nil {
		events = append(events, Event{
			Kind: EventMoved, At: o.MovedAt, Queue: o.Label, Receives: o.Receives, Reason: o.Reason,
		})
	}
	for i := range v.Visits {
		visit := &v.Visits[i]
		events = append(events, Event{
			Kind: EventDelivered, At: visit.LeasedAt, EndedAt: visit.EndedAt, Consumer: visit.Consumer,
			Outcome: visitEndings[visit.End], Reason: visit.Reason,
		})
	}
	last := Event{Kind: EventDelivered, At: v.LeasedAt, Consumer: v.Consumer, Outcome: EndingLeased}
	if v.State == store.StateLeased {
		return append(events, last)
	}
	if v.State != 0 {
		return events
	}
	if n := len(v.Visits); !v.LeasedAt.IsZero() && (n == 0 || v.LeasedAt.After(v.Visits[n-1].LeasedAt)) {
		last.EndedAt, last.Outcome = v.RemovedAt, removalEndings[v.Removal]
		events = append(events, last)
	}
	return append(events, Event{Kind: EventRemoved, At: v.RemovedAt, Outcome: removalEndings[v.Removal]})
}
