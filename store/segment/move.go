package segment

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Move implements [store.Queues]. It is one record over both queues. What the messages say is read between choosing
// them and moving them, with no lock held; those that changed meanwhile stay.
func (s *Store) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	source, target, err := s.findBoth(p)
	if err != nil {
		return store.MoveResult{}, err
	}
	s.catchUp(ctx, source)
	s.catchUp(ctx, target)
	p.Select = s.clock.Ahead().Selection(p.Select)
	bodies, next, lsn, err := s.bodies(source, p)
	if err := s.await(lsn, err); err != nil {
		return store.MoveResult{}, err
	}
	list, err := s.pack(ctx, source, bodies, p)
	if err != nil {
		return store.MoveResult{}, err
	}
	rec := model.EncodeMoved(room(0), p.Source, list)
	if err := s.admit(ctx, len(rec)); err != nil {
		return store.MoveResult{}, fmt.Errorf("move to queue %d: %w", p.Target, err)
	}
	res, frees, lsn, err := s.move(source, target, &p.Select, list, rec)
	if err := s.await(lsn, err); err != nil {
		return store.MoveResult{}, err
	}
	if res.Moved > 0 {
		s.notify(p.Target)
	}
	if frees {
		s.notify(p.Source)
	}
	res.Next = next
	return res, nil
}

func (s *Store) findBoth(p store.MoveParams) (source, target *queue, err error) {
	if source, err = s.find(p.Source); err != nil {
		return nil, nil, fmt.Errorf("move from: %w", err)
	}
	if target, err = s.find(p.Target); err != nil {
		return nil, nil, fmt.Errorf("move to: %w", err)
	}
	return source, target, nil
}

// bodies chooses what to move, and says where to go on.
func (s *Store) bodies(q *queue, p store.MoveParams) ([]model.Body, store.Seq, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return nil, 0, q.last, err
	}
	list, next := model.Fit(q.state.Movable(s.clock.Now(), &p.Select, p.Limit))
	return list, next, q.last, nil
}

// pack reads what the messages say. A damaged one is left where it is.
func (s *Store) pack(ctx context.Context, source *queue, bodies []model.Body, p store.MoveParams) ([]model.Moved, error) {
	seqs := make([]store.Seq, len(bodies))
	for i, b := range bodies {
		seqs[i] = b.Seq
	}
	var list []model.Moved
	damaged, err := s.read(ctx, source, seqs, func(i int, m model.Stored) {
		list = append(list, model.NewMoved(bodies[i], m, &p))
	})
	for _, d := range damaged {
		if f := s.o.Events.Damaged; f != nil {
			f(d.err)
		}
	}
	return list, err
}

// move decides and appends. frees says that the source may serve others now.
func (s *Store) move(source, target *queue, sel *store.Selection, list []model.Moved, rec []byte) (res store.MoveResult, frees bool, seen journal.LSN, err error) {
	defer lockBoth(source, target)()
	seen = max(source.last, target.last)
	for _, q := range []*queue{source, target} {
		if err := q.alive(); err != nil {
			return res, false, seen, err
		}
	}
	now := s.clock.Now()
	if still := source.state.StillMovable(now, sel, list); len(still) < len(list) {
		list = still
		rec = model.EncodeMoved(room(0), source.id, list)
	}
	target.state.Stats(now) // so that what is due there comes before what is moved
	if len(list) > 0 {
		seen = s.appendMove(source, target, list, rec, now)
		frees = source.state.Frees(false)
	}
	for i := range list {
		res.Bytes += int64(list[i].NewSize)
	}
	res.Moved, res.NextDue = len(list), target.state.NextDue(now)
	return res, frees, seen, nil
}

// appendMove carries the move out on both queues, which are locked.
func (s *Store) appendMove(source, target *queue, list []model.Moved, rec []byte, now model.Millis) journal.LSN {
	in := model.MovedIn{At: now, First: target.state.Next()}
	out := model.MovedOut{At: now}
	for i := range list {
		in.Entries = append(in.Entries, list[i].Meta())
		out.Seqs = append(out.Seqs, list[i].Seq)
	}
	model.Stamp(rec[record.HeaderSize:], target.id, now, in.First)
	lsn := s.append(seal(rec, typeMoved, target.id), true)
	model.ApplyMoved(source.state, target.state, out, in)
	source.last, source.settled, target.last = lsn, lsn, lsn
	target.sent(target.state.Next()-1, lsn, s.journal.Durable())
	return lsn
}

// lockBoth locks two queues in rising order of generation, or the one that is both.
func lockBoth(a, b *queue) (unlock func()) {
	if a == b {
		a.mu.Lock()
		return a.mu.Unlock
	}
	if a.id > b.id {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
	return func() {
		b.mu.Unlock()
		a.mu.Unlock()
	}
}
