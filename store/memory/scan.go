package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Scan implements [store.QueueAdmin].
func (s *Store) Scan(_ context.Context, p store.ScanParams) (store.ScanResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(p.Queue)
	if err != nil {
		return store.ScanResult{}, err
	}
	now, ahead := s.read(q)
	sel := ahead.Selection(p.Select)
	views, next := q.Scan(now, &sel, p.Limit, p.MaxBytes)
	for i := range views {
		q.fill(&views[i])
	}
	return store.ScanResult{Views: ahead.Views(views), Next: next}, nil
}

// fill adds what a message says.
func (q *queue) fill(v *store.View) {
	m := q.messages[v.Seq]
	m.Payload = slices.Clone(m.Payload)
	m.Fill(v)
}

// Lookup implements [store.QueueAdmin].
func (s *Store) Lookup(_ context.Context, id, origin store.QueueID, seq store.Seq) (store.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(id)
	if err != nil {
		return store.View{}, err
	}
	now, ahead := s.read(q)
	for _, found := range q.Lookup(now, origin, seq) {
		v := found.View
		if v.State == 0 {
			return ahead.View(v), nil
		}
		q.fill(&v)
		if found.Sure || model.IsFrom(v, origin, seq) {
			return ahead.View(v), nil
		}
	}
	return store.View{}, fmt.Errorf("message %d of queue %d in queue %d: %w", seq, origin, id, store.ErrNotFound)
}

// Groups implements [store.QueueAdmin].
func (s *Store) Groups(_ context.Context, id store.QueueID, after *string, limit int) ([]store.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(id)
	if err != nil {
		return nil, err
	}
	now, ahead := s.read(q)
	return ahead.Groups(q.Groups(now, after, limit)), nil
}
