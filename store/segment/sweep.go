package segment

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// sweepLen is how long the record of a sweep of 1,000 messages is.
const sweepLen = record.HeaderSize + 16 + 8*1000

// Sweep implements [store.QueueAdmin].
func (s *Store) Sweep(ctx context.Context, id store.QueueID) (store.SweepResult, error) {
	if err := s.journal.Room(ctx, sweepLen, true); err != nil {
		return store.SweepResult{}, fmt.Errorf("sweep queue %d: %w", id, err)
	}
	q, err := s.find(id)
	if err != nil {
		return store.SweepResult{}, err
	}
	res, lsn, err := s.sweep(q)
	return res, s.await(lsn, err)
}

func (s *Store) sweep(q *queue) (store.SweepResult, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return store.SweepResult{}, q.last, err
	}
	now := s.follow(q, false)
	ev, changed := q.state.Sweep(now)
	if changed {
		q.last = s.append(seal(ev.Encode(room(16+8*(len(ev.Expired)+len(ev.Lapsed)))), typeSwept, q.id), true)
		q.settled = q.last
	}
	stats := q.state.Stats(now)
	return store.SweepResult{
		Expired: len(ev.Expired), Lapsed: len(ev.Lapsed), Ready: stats.Ready, Dead: stats.Dead, NextDue: stats.NextDue,
	}, q.last, nil
}

// Stats implements [store.Queues].
func (s *Store) Stats(ctx context.Context, id store.QueueID) (store.Stats, error) {
	q, err := s.find(id)
	if err != nil {
		return store.Stats{}, err
	}
	s.catchUp(ctx, q)
	res, lsn, err := s.stats(q)
	return res, s.await(lsn, err)
}

func (s *Store) stats(q *queue) (store.Stats, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return store.Stats{}, q.last, err
	}
	return q.state.Stats(s.clock.Now()), q.last, nil
}
