package segment

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Configure implements [store.QueueAdmin]. It is not refused for want of space for as long as there is any: the engine
// repeats the settings of all queues when it starts, and a full disk is no reason not to start.
func (s *Store) Configure(ctx context.Context, id store.QueueID, settings store.Settings) error {
	if err := s.usable(); err != nil {
		return err
	}
	if q, lsn := s.configured(id, settings.Revision); q != nil {
		return s.await(lsn, nil)
	}
	if err := s.journal.Room(ctx, 256, true); err != nil {
		return fmt.Errorf("configure queue %d: %w", id, err)
	}
	s.mu.Lock()
	q := s.queues[id]
	if q == nil {
		q = newQueue(id, model.NewQueue(id))
		s.queues[id] = q
	}
	lsn := s.configure(q, settings)
	s.mu.Unlock()
	return s.await(lsn, nil)
}

// configured returns a queue that has the settings of that revision, or later ones, and the LSN that this depends on.
func (s *Store) configured(id store.QueueID, revision uint64) (*queue, journal.LSN) {
	s.mu.RLock()
	q := s.queues[id]
	s.mu.RUnlock()
	if q == nil {
		return nil, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == nil || q.state.Revision() < revision {
		return nil, 0
	}
	return q, q.last
}

// configure decides and appends. s.mu is held, so that a queue is not found before its first record has an LSN.
func (s *Store) configure(q *queue, settings store.Settings) journal.LSN {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ev, changed := q.state.Configure(s.clock.Now(), settings); changed {
		q.last = s.append(seal(ev.Encode(room(160)), typeConfigured, q.id), true)
	}
	return q.last
}

// Drop implements [store.QueueAdmin].
func (s *Store) Drop(ctx context.Context, id store.QueueID) error {
	if err := s.journal.Room(ctx, 64, true); err != nil {
		return fmt.Errorf("drop queue %d: %w", id, err)
	}
	return s.await(s.drop(id), nil)
}

func (s *Store) drop(id store.QueueID) journal.LSN {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[id]
	if q == nil {
		return s.dropped
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(s.queues, id)
	q.state = nil
	q.where.drop()
	q.last = s.append(seal(room(0), typeDropped, id), true)
	s.dropped = q.last
	return q.last
}

// Queues implements [store.QueueAdmin].
func (s *Store) Queues(_ context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	ids := make([]store.QueueID, 0, len(s.queues))
	for id := range s.queues {
		if id > after {
			ids = append(ids, id)
		}
	}
	lsn := s.dropped
	s.mu.RUnlock()
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], s.await(lsn, nil)
}
