package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueDrop = newRepeatable("queue_drop")

// Drop implements [store.QueueAdmin].
func (s *Store) Drop(ctx context.Context, id store.QueueID) error {
	if _, _, err := s.queue(ctx, queueDrop, queueCall{id: id}); err != nil {
		return err
	}
	return s.strike(ctx, 'q', uint64(id))
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
