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
// them and moving them, with no lock held; those that are not dead any more by then stay.
func (s *Store) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	source, target, err := s.findBoth(p)
	if err != nil {
		return store.MoveResult{}, err
	}
	corpses, lsn, err := s.corpses(source, p.Limit)
	if err := s.await(lsn, err); err != nil {
		return store.MoveResult{}, err
	}
	list, err := s.pack(source, corpses, p.Label)
	if err != nil {
		return store.MoveResult{}, err
	}
	rec := model.EncodeMoved(room(0), p.Source, list)
	if err := s.admit(ctx, len(rec)); err != nil {
		return store.MoveResult{}, fmt.Errorf("move to queue %d: %w", p.Target, err)
	}
	res, lsn, err := s.move(source, target, list, rec)
	if err := s.await(lsn, err); err != nil {
		return store.MoveResult{}, err
	}
	if res.Moved > 0 {
		s.notify(p.Target)
	}
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

// corpses chooses what to move.
func (s *Store) corpses(q *queue, limit int) ([]model.Corpse, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.alive(); err != nil {
		return nil, q.last, err
	}
	return model.Fit(q.state.Dead(s.clock.Now(), limit)), q.last, nil
}

// pack reads what the messages say. A damaged one is left where it is.
func (s *Store) pack(source *queue, corpses []model.Corpse, label string) ([]model.Moved, error) {
	seqs := make([]store.Seq, len(corpses))
	for i, c := range corpses {
		seqs[i] = c.Seq
	}
	var list []model.Moved
	damaged, err := s.read(source, seqs, func(i int, m model.Stored) {
		c := corpses[i]
		list = append(list, model.Moved{
			Seq: c.Seq, Size: c.Size, Origin: model.Follow(source.id, c, m, label), Payload: m.Payload,
		})
	})
	for _, d := range damaged {
		if f := s.o.Events.Damaged; f != nil {
			f(d.err)
		}
	}
	return list, err
}

// move decides and appends.
func (s *Store) move(source, target *queue, list []model.Moved, rec []byte) (store.MoveResult, journal.LSN, error) {
	lockBoth(source, target)
	defer source.mu.Unlock()
	defer target.mu.Unlock()
	seen := max(source.last, target.last)
	for _, q := range []*queue{source, target} {
		if err := q.alive(); err != nil {
			return store.MoveResult{}, seen, err
		}
	}
	now := s.clock.Now()
	if still := source.state.StillDead(now, list); len(still) < len(list) {
		list = still
		rec = model.EncodeMoved(room(0), source.id, list)
	}
	if len(list) > 0 {
		seen = s.appendMove(source, target, list, rec, now)
	}
	return store.MoveResult{
		Moved: len(list), Left: source.state.DeadLen(), NextDue: target.state.NextDue(now),
	}, seen, nil
}

// appendMove carries the move out on both queues, which are locked.
func (s *Store) appendMove(source, target *queue, list []model.Moved, rec []byte, now model.Millis) journal.LSN {
	in := model.MovedIn{At: now, First: target.state.Next()}
	out := model.MovedOut{At: now}
	for _, m := range list {
		in.Sizes = append(in.Sizes, m.Size)
		out.Seqs = append(out.Seqs, m.Seq)
	}
	model.Stamp(rec[record.HeaderSize:], target.id, now, in.First)
	lsn := s.append(seal(rec, typeMoved, target.id), true)
	source.state.ApplyMovedOut(out)
	target.state.ApplyMovedIn(in)
	source.last, source.settled, target.last = lsn, lsn, lsn
	target.sent(target.state.Next()-1, lsn, s.journal.Durable())
	return lsn
}

// lockBoth locks in rising order of generation.
func lockBoth(a, b *queue) {
	if a.id > b.id {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
}
