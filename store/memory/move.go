package memory

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Move implements [store.Queues].
func (s *Store) Move(_ context.Context, p store.MoveParams) (store.MoveResult, error) {
	res, frees, err := s.move(p)
	if res.Moved > 0 {
		s.notify(p.Target)
	}
	if frees {
		s.notify(p.Source)
	}
	return res, err
}

func (s *Store) move(p store.MoveParams) (res store.MoveResult, frees bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source, err := s.find(p.Source)
	if err != nil {
		return res, false, fmt.Errorf("move from: %w", err)
	}
	target, err := s.find(p.Target)
	if err != nil {
		return res, false, fmt.Errorf("move to: %w", err)
	}
	now, ahead := s.read(source, target)
	sel := ahead.Selection(p.Select)
	target.Stats(now) // so that what is due there comes first
	in := model.MovedIn{At: now, First: target.Next()}
	out := model.MovedOut{At: now}
	bodies, next := model.Fit(source.Movable(now, &sel, p.Limit))
	for _, b := range bodies {
		moved := model.NewMoved(b, source.messages[b.Seq], &p)
		if moved.Origin != nil {
			moved.Origin.MovedAt = model.Time(now)
		}
		target.messages[in.First+store.Seq(len(in.Entries))] = model.Stored{
			Size: moved.NewSize, SentAt: now, Payload: moved.Payload, Origin: moved.Origin,
		}
		in.Entries = append(in.Entries, moved.Meta())
		out.Seqs = append(out.Seqs, b.Seq)
		res.Bytes += int64(moved.NewSize)
	}
	model.ApplyMoved(source.Queue, target.Queue, out, in)
	res.Moved, res.Next, res.NextDue = len(out.Seqs), next, target.NextDue(now)
	return res, len(out.Seqs) > 0 && source.Frees(false), nil
}
