package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueDrop = newRepeatable("queue_drop")

// drop removes a part.
func (s part) drop(ctx context.Context, id store.QueueID) error {
	_, _, err := s.queue(ctx, queueDrop, queueCall{id: id})
	return err
}

// Queues implements [store.QueueAdmin].
func (s *Store) Queues(ctx context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	ids, err := s.enrolled(ctx, 'q', uint64(after), limit, "c")
	list := make([]store.QueueID, len(ids))
	for i, id := range ids {
		list[i] = store.QueueID(id)
	}
	return list, err
}
