package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// How much one call of [Engine.Browse] looks at: what is in it when either is used up is the answer.
const (
	MaxBrowseBytes = 64 << 20
	MaxBrowseTime  = 200 * time.Millisecond
)

// View is a message as it is found by looking at it, which changes nothing.
type View struct {
	// Delivery is what a receiver would see. There is no receipt, Receives counts the deliveries so far, and the lease is
	// that of a leased message.
	Delivery
	State State
	// Due is when the delay ends; zero in other states.
	Due time.Time
	// AvailableAt is when it first became available here, within [store.Tick]; zero when it never was.
	AvailableAt time.Time
	// Size is that of body and attributes, in bytes.
	Size int64
	// Consumer has the lease or had the last one, since LeasedAt.
	Consumer string
	LeasedAt time.Time
	// Reason is why it was last given back.
	Reason string
}

// BrowseRequest says what to look for.
type BrowseRequest struct {
	Filter Filter
	// Limit is from 1 to [MaxBatch].
	Limit int
	// From is where an earlier answer ended; empty for the start.
	From Place
}

// Browsed is what was found.
type Browsed struct {
	// Views match, in the order in which they came to the queue; at most [MaxAnswerBytes] of them, but for one.
	Views []View
	// Scanned counts the messages whose content was looked at.
	Scanned int
	// Next is where to go on; empty when there is nothing more.
	Next Place
}

// Place is a position in a queue, opaque, in 16 bytes or none. It belongs to the queue's generation.
type Place string

// Browse looks for messages in any state. It changes and counts nothing. It stops when it has found enough or has
// looked long enough, so it may find nothing although there is more: see Next. A message that is there all the time
// is found by those who follow Next to the end.
func (e *Engine) Browse(ctx context.Context, ref Ref, req BrowseRequest) (Browsed, error) {
	if err := req.Filter.validate(); err != nil {
		return Browsed{}, err
	}
	if req.Limit < 1 || req.Limit > MaxBatch {
		return Browsed{}, invalid("limit", fmt.Sprintf("Give a number from 1 to %d.", MaxBatch))
	}
	var found Browsed
	err := e.follow(ctx, ref, func(q *queue, _ *setup) error {
		from, err := e.ids().seqAt(q.id, req.From)
		if err != nil {
			return err
		}
		s, err := e.sieve(ctx, q, &req.Filter)
		if err != nil {
			return err
		}
		c, err := e.scan(ctx, q, s, from, budget{
			matches: req.Limit, answer: MaxAnswerBytes, payloads: MaxBrowseBytes, time: MaxBrowseTime,
		})
		if err != nil {
			return err
		}
		if c.next != 0 && len(c.views) == req.Limit {
			// Whoever has all there is needs no other page to find that out.
			if c.next, err = e.firstFrom(ctx, q, c.next); err != nil {
				return err
			}
		}
		found, err = e.browsed(q, c)
		return err
	})
	return found, err
}

func (e *Engine) browsed(q *queue, c catch) (Browsed, error) {
	found := Browsed{Views: make([]View, len(c.views)), Scanned: c.scanned, Next: e.ids().placeOf(q.id, c.next)}
	for i := range c.views {
		if err := e.view(&found.Views[i], q, &c.views[i]); err != nil {
			return Browsed{}, err
		}
	}
	return found, nil
}

// view shows what the store has found in q.
func (e *Engine) view(to *View, q *queue, v *store.View) error {
	*to = View{
		Delivery: Delivery{
			Receives: v.Receives, SentAt: v.SentAt,
			Group: v.Group, Priority: int(v.Priority), ExpiresAt: v.ExpiresAt,
		},
		State: stateOf(v.State), AvailableAt: v.AvailableAt, Size: int64(v.Size),
		Consumer: v.Consumer, LeasedAt: v.LeasedAt, Reason: v.Reason,
	}
	if !to.AvailableAt.IsZero() && to.AvailableAt.Before(to.SentAt) {
		to.AvailableAt = to.SentAt // which is more exact
	}
	switch to.State {
	case StateLeased:
		to.Lease = Lease{Token: uint64(v.Token), ExpiresAt: v.Due}
	case StateDelayed:
		to.Due = v.Due
		if v.AvailableAt.Add(store.Tick).After(v.Due) {
			to.AvailableAt = time.Time{} // that is when it will be
		}
	default:
	}
	if q.setup.Load().config.FIFO {
		to.Sequence = uint64(v.Seq)
	}
	if to.State != StateRemoved {
		if err := decodePayload(v.Payload, &to.Delivery); err != nil {
			return fmt.Errorf("read message %d of %s: %w", v.Seq, q.ref, err)
		}
	}
	e.ids().identify(&to.Delivery, q.id, &v.Delivery)
	return nil
}

// placeOf hides a sequence, in the way ids do; none for 0.
func (c idCipher) placeOf(q store.QueueID, seq store.Seq) Place {
	if seq == 0 {
		return ""
	}
	var id MessageID
	c.put(&id, q, seq)
	return Place(id[:])
}

// seqAt is the reverse of placeOf. What is not a place in q is refused.
func (c idCipher) seqAt(q store.QueueID, p Place) (store.Seq, error) {
	if p == "" {
		return 0, nil
	}
	if len(p) == len(MessageID{}) {
		if of, seq := c.place(MessageID([]byte(p))); of == q {
			return seq, nil
		}
	}
	return 0, invalid("cursor", "This is not a cursor of this queue; use the one from the page before, or none.")
}
