package redis

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

var queueLookup = newLook("queue_lookup")

// What a lookup finds.
const (
	foundHere     = 1
	foundDeparted = 2
)

// lookup finds a message of a part: own is its sequence there, if that is where it was first sent, else 0.
func (s part) lookup(ctx context.Context, m lookedFor, own store.Seq) (store.View, error) {
	from := encodeFrom(store.Origin{Queue: m.origin, Seq: m.seq})
	r, _, err := s.queue(ctx, queueLookup, queueCall{id: m.queue}, from, exact(own))
	if err != nil {
		return store.View{}, err
	}
	switch r.int() {
	case foundHere:
		v := r.list().view()
		return v, r.done()
	case foundDeparted:
		v := r.list().departed()
		return v, r.done()
	}
	return store.View{}, fmt.Errorf("message %d of queue %d in queue %d: %w", m.seq, m.origin, m.queue, store.ErrNotFound)
}

// departed reads what is remembered of a message that left.
func (r *reply) departed() store.View {
	var v store.View
	v.Seq, v.RemovedAt, v.Removal = store.Seq(r.int()), instantOf(r.int()), store.Removal(r.int())
	v.AvailableAt, v.Entered = tickTime(r.int()), uint32(r.int())
	v.Receives = v.Entered
	v.Token, v.LeasedAt, v.Consumer, v.Reason = store.Token(r.int()), momentOf(r.int()), r.text(), r.text()
	v.Group, v.Priority, v.ExpiresAt = r.text(), uint8(r.int()), momentOf(r.int())
	v.Visits = r.visits()
	return v
}
