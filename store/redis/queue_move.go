package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var (
	queueMoveMark   = newScript("queue_move_mark")
	queueMoveIntent = newLook("queue_move_intent")
	queueMoveInsert = newScript("queue_move_insert")
	queueMoveDelete = newScript("queue_move_delete")
	queueMoveForget = newScript("queue_move_forget")
	queueMoveUndo   = newScript("queue_move_undo")
)

// moveTime bounds the steps of a move after the first, which are made also when the caller has gone.
const moveTime = 5 * time.Second

// intent is a move of which the source has marked its messages.
type intent struct {
	id             string
	source, target store.QueueID
	moving         []moving
}

// moving is one message as the target is to have it. One that is new there comes from nowhere.
type moving struct {
	store.Delivery
	from   string
	origin []byte
}

// Move implements [store.Queues]. See the package's comment on the four steps. A call that ends before the second step is
// taken back, or else made by a sweep of the source.
func (s *Store) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	in, next, err := s.mark(ctx, p)
	if err != nil {
		return store.MoveResult{}, fmt.Errorf("move from: %w", err)
	}
	res := store.MoveResult{Moved: len(in.moving), Next: next}
	for _, m := range in.moving {
		res.Bytes += int64(m.Size)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveTime)
	defer cancel()
	res.NextDue, err = s.conclude(ctx, in)
	if err != nil {
		return store.MoveResult{}, fmt.Errorf("move to: %w", err)
	}
	return res, nil
}

// mark is the first step. The intent has no id when there was nothing to move.
func (s *Store) mark(ctx context.Context, p store.MoveParams) (intent, store.Seq, error) {
	in := intent{source: p.Source, target: p.Target}
	var size uint32
	var body []byte
	if p.Replace != nil {
		size, body = p.Replace.Size, p.Replace.Payload
	}
	oldest := p.Select.States == store.StateDead && onlyStates(&p.Select)
	args := []any{decimal(uint64(p.Target)), p.Limit, p.Label, flag(p.Renew), flag(p.Replace != nil), size, body, flag(oldest)}
	r, _, err := s.queue(ctx, queueMoveMark, queueCall{id: p.Source}, append(args, selectionArgs(&p.Select)...)...)
	if err != nil {
		return in, 0, err
	}
	in.id = r.text()
	next := store.Seq(r.int())
	if r.more() {
		in.read(r.list())
	}
	return in, next, r.done()
}

// read reads what the source noted.
func (in *intent) read(r *reply) {
	in.target = store.QueueID(r.uint())
	label, renewed, replaced, size, body := r.text(), r.int() == 1, r.int() == 1, uint32(r.int()), r.text()
	for list := r.list(); list.more(); {
		item := list.list()
		m := moving{Delivery: item.delivery()}
		reason, dead := item.text(), item.int() == 1
		if !renewed {
			o := in.follow(m.Delivery)
			o.Label, o.Reason = label, reason
			m.from, m.origin = encodeFrom(o), encodeOrigin(o)
		}
		if dead {
			m.ExpiresAt = time.Time{}
		}
		if replaced {
			m.Payload, m.Size = []byte(body), size
		}
		in.moving = append(in.moving, m)
	}
}

// follow is the origin of a message that is moved on: its identity and first send stay, its deliveries add up.
func (in *intent) follow(d store.Delivery) store.Origin {
	o := store.Origin{Queue: in.source, Seq: d.Seq, SentAt: d.SentAt}
	if d.Origin != nil {
		o = *d.Origin
	}
	o.Receives += d.Entered
	return o
}

// conclude makes the steps after the first.
func (s *Store) conclude(ctx context.Context, in intent) (time.Duration, error) {
	due, err := s.insert(ctx, in)
	if err != nil && errors.Is(err, store.ErrUnknown) {
		due, err = s.insert(ctx, in) // a repeat is harmless, and tells
	}
	if in.id == "" {
		return due, err
	}
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		if e := s.step(ctx, queueMoveUndo, in.source, in.id); e != nil && !errors.Is(e, store.ErrGone) {
			err = fmt.Errorf("%w: a sweep will try again to move the messages: %w", store.ErrUnknown, err)
		}
	}
	if err != nil {
		return 0, err
	}
	// The move is decided. What fails now is done by a sweep.
	if s.step(ctx, queueMoveDelete, in.source, in.id) == nil {
		_ = s.step(ctx, queueMoveForget, in.target, in.id)
	}
	return due, nil
}

// insert is the second step.
func (s *Store) insert(ctx context.Context, in intent) (time.Duration, error) {
	args := make([]any, 0, 1+7*len(in.moving))
	args = append(args, in.id)
	for i := range in.moving {
		m := &in.moving[i]
		args = append(args, m.Payload, m.Size, m.Group, m.Priority, wallMillis(m.ExpiresAt), m.from, m.origin)
	}
	r, now, err := s.queue(ctx, queueMoveInsert, queueCall{id: in.target}, args...)
	if err != nil {
		return 0, err
	}
	return until(now, r.int()), r.done()
}

// step makes another step of a move.
func (s *Store) step(ctx context.Context, sc *script, q store.QueueID, id string) error {
	_, _, err := s.queue(ctx, sc, queueCall{id: q}, id)
	return err
}

// resume goes on with a move that its source has noted.
func (s *Store) resume(ctx context.Context, source store.QueueID, id string) error {
	r, _, err := s.queue(ctx, queueMoveIntent, queueCall{id: source}, id)
	if err != nil || !r.more() {
		return err
	}
	in := intent{id: id, source: source}
	in.read(r.list())
	if err := r.done(); err != nil {
		return err
	}
	_, err = s.conclude(ctx, in)
	if errors.Is(err, store.ErrGone) {
		return nil // taken back
	}
	return err
}

// forgetMove makes the last step of a move into a queue if its source knows no more of it.
func (s *Store) forgetMove(ctx context.Context, target store.QueueID, id string) error {
	source, err := sourceOf(id)
	if err != nil {
		return err
	}
	r, _, err := s.queue(ctx, queueMoveIntent, queueCall{id: source}, id)
	if err != nil && !errors.Is(err, store.ErrGone) || err == nil && r.more() {
		return err
	}
	return s.step(ctx, queueMoveForget, target, id)
}

// onlyStates says that a selection says nothing but in which states messages are.
func onlyStates(sel *store.Selection) bool {
	return sel.Group == nil && sel.Consumer == "" && sel.AvailableBefore.IsZero() && sel.From == 0 && sel.UpTo == 0 &&
		sel.Seqs == nil
}
