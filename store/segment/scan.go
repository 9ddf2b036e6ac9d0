package segment

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Scan implements [store.QueueAdmin]. A damaged message is passed over and reported.
func (s *Store) Scan(ctx context.Context, p store.ScanParams) (store.ScanResult, error) {
	q, err := s.find(p.Queue)
	if err != nil {
		return store.ScanResult{}, err
	}
	s.catchUp(ctx, q)
	ahead := s.clock.Ahead()
	p.Select = ahead.Selection(p.Select)
	views, next, lsn, err := s.scan(q, p)
	if err := s.await(lsn, err); err != nil {
		return store.ScanResult{}, err
	}
	views, err = s.fill(ctx, q, views)
	return store.ScanResult{Views: ahead.Views(views), Next: next}, err
}

func (s *Store) scan(q *queue, p store.ScanParams) ([]store.View, store.Seq, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return nil, 0, q.last, err
	}
	views, next := q.state.Scan(s.clock.Now(), &p.Select, p.Limit, p.MaxBytes)
	return views, next, q.last, nil
}

// fill reads what the messages say, and leaves out those that left the queue meanwhile or are damaged.
func (s *Store) fill(ctx context.Context, q *queue, views []store.View) ([]store.View, error) {
	seqs := make([]store.Seq, len(views))
	for i := range views {
		seqs[i] = views[i].Seq
	}
	var filled []store.View
	damaged, err := s.read(ctx, q, seqs, func(i int, m model.Stored) {
		m.Fill(&views[i])
		filled = append(filled, views[i])
	})
	for _, d := range damaged {
		if f := s.o.Events.Damaged; f != nil {
			f(d.err)
		}
	}
	return filled, err
}

// Lookup implements [store.QueueAdmin].
func (s *Store) Lookup(ctx context.Context, id, origin store.QueueID, seq store.Seq) (store.View, error) {
	q, err := s.find(id)
	if err != nil {
		return store.View{}, err
	}
	s.catchUp(ctx, q)
	ahead := s.clock.Ahead()
	list, lsn, err := s.lookup(q, origin, seq)
	if err := s.await(lsn, err); err != nil {
		return store.View{}, err
	}
	for _, found := range list {
		if found.View.State == 0 {
			return ahead.View(found.View), nil
		}
		views, err := s.fill(ctx, q, []store.View{found.View})
		if err != nil {
			return store.View{}, err
		}
		if len(views) == 1 && (found.Sure || model.IsFrom(views[0], origin, seq)) {
			return ahead.View(views[0]), nil
		}
	}
	return store.View{}, fmt.Errorf("message %d of queue %d in queue %d: %w", seq, origin, id, store.ErrNotFound)
}

func (s *Store) lookup(q *queue, origin store.QueueID, seq store.Seq) ([]model.Sought, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return nil, q.last, err
	}
	return q.state.Lookup(s.clock.Now(), origin, seq), q.last, nil
}

// Groups implements [store.QueueAdmin].
func (s *Store) Groups(ctx context.Context, id store.QueueID, after *string, limit int) ([]store.Group, error) {
	q, err := s.find(id)
	if err != nil {
		return nil, err
	}
	s.catchUp(ctx, q)
	list, lsn, err := s.groups(q, after, limit)
	return s.clock.Ahead().Groups(list), s.await(lsn, err)
}

func (s *Store) groups(q *queue, after *string, limit int) ([]store.Group, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return nil, q.last, err
	}
	return q.state.Groups(s.clock.Now(), after, limit), q.last, nil
}
