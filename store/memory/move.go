package memory

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Move implements [store.Queues].
func (s *Store) Move(_ context.Context, p store.MoveParams) (store.MoveResult, error) {
	res, err := s.move(p)
	if res.Moved > 0 {
		s.notify(p.Target)
	}
	return res, err
}

func (s *Store) move(p store.MoveParams) (store.MoveResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source, err := s.find(p.Source)
	if err != nil {
		return store.MoveResult{}, fmt.Errorf("move from: %w", err)
	}
	target, err := s.find(p.Target)
	if err != nil {
		return store.MoveResult{}, fmt.Errorf("move to: %w", err)
	}
	now := s.clock.Now()
	in := model.MovedIn{At: now, First: target.Next()}
	out := model.MovedOut{At: now}
	for _, c := range model.Fit(source.Dead(now, p.Limit)) {
		m := source.messages[c.Seq]
		o := model.Follow(p.Source, c, m, p.Label)
		o.MovedAt = model.Time(now)
		target.messages[in.First+store.Seq(len(in.Sizes))] = model.Stored{
			Size: c.Size, SentAt: now, Payload: m.Payload, Origin: &o,
		}
		in.Sizes = append(in.Sizes, c.Size)
		out.Seqs = append(out.Seqs, c.Seq)
	}
	source.ApplyMovedOut(out)
	source.forget(out.Seqs)
	target.ApplyMovedIn(in)
	return store.MoveResult{Moved: len(out.Seqs), Left: source.DeadLen(), NextDue: target.NextDue(now)}, nil
}
