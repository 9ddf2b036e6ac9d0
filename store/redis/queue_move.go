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
	queueMoveInsert = newRepeatable("queue_move_insert")
	queueMoveDelete = newRepeatable("queue_move_delete")
	queueMoveRefuse = newRepeatable("queue_move_refuse")
	queueMoveAgain  = newScript("queue_move_again")
	queueMoveUndo   = newRepeatable("queue_move_undo")
)

// moveTime bounds the steps of a move after the first, which are made also when the caller has gone.
const moveTime = 5 * time.Second

// intent is a move of which the source has marked its messages.
type intent struct {
	id string
	// from is the part of the source that has the messages. The target chooses one of its own by the id.
	from           part
	source, target store.QueueID
	// noted is when it was noted that there is a move.
	noted int64
	// latest is until when the target may begin to insert it, in queue time.
	latest int64
	moving []moving
}

// moving is one message as the target is to have it. One that is new there comes from nowhere.
type moving struct {
	store.Delivery
	from   string
	origin []byte
}

// Move implements [store.Queues]. See the package's comment on the steps of a move. One that stops between two of them is
// concluded by whoever looks after moves next.
func (s *Store) Move(ctx context.Context, p store.MoveParams) (store.MoveResult, error) {
	p.Select = s.ahead().Selection(p.Select)
	noted, err := s.noteMoves(ctx, p.Source, p.Target)
	if err != nil {
		return store.MoveResult{}, fmt.Errorf("move from %d to %d: %w", p.Source, p.Target, err)
	}
	in, next, err := s.markSome(ctx, p, noted)
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
func (s part) mark(ctx context.Context, p store.MoveParams, noted int64) (intent, store.Seq, error) {
	in := intent{from: s, source: p.Source, target: p.Target, noted: noted}
	var size uint32
	var body []byte
	if p.Replace != nil {
		size, body = p.Replace.Size, p.Replace.Payload
	}
	oldest := p.Select.States == store.StateDead && onlyStates(&p.Select)
	args := []any{decimal(uint64(p.Target)), p.Limit, p.Label, flag(p.Renew), flag(p.Replace != nil), size, body, flag(oldest), noted}
	r, now, err := s.queue(ctx, queueMoveMark, queueCall{id: p.Source}, append(args, selectionArgs(&p.Select)...)...)
	if err != nil {
		return in, 0, err
	}
	if in.id = r.text(); in.id == string(late) {
		return in, 0, fmt.Errorf("%w: the server did not begin the move in time", store.ErrUnavailable)
	}
	next := store.Seq(r.int())
	if r.more() {
		in.read(r.list())
	}
	s.told(p.Source, r, now, settles, len(in.moving))
	return in, next, r.done()
}

// read reads what the source noted.
func (in *intent) read(r *reply) {
	in.target, in.latest = store.QueueID(r.uint()), r.int()
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
	o := store.Origin{Queue: in.source, Seq: in.from.outer(d.Seq), SentAt: d.SentAt}
	if d.Origin != nil {
		o = *d.Origin
	}
	o.Receives += d.Entered
	return o
}

// conclude makes the steps after the first. An error other than [store.ErrUnknown] says that the messages are again what they
// were.
func (s *Store) conclude(ctx context.Context, in intent) (time.Duration, error) {
	verdict, due, err := s.insert(ctx, in)
	if in.id == "" {
		return due, err
	}
	if err == nil && verdict == late {
		if in, err = s.again(ctx, in); err == nil {
			verdict, due, err = s.insert(ctx, in)
		}
	}
	if err != nil && !errors.Is(err, store.ErrGone) {
		var e error
		if verdict, due, e = s.refuse(ctx, in); e != nil {
			return 0, fmt.Errorf("%w: the move is concluded later: %w", store.ErrUnknown, err)
		}
	}
	if verdict != inserted {
		return 0, s.undo(ctx, in, err)
	}
	// The move is decided. What fails now is done by whoever looks after moves.
	_ = in.from.step(ctx, queueMoveDelete, in.source, in.id)
	return due, nil
}

// verdict is what the target says of a move.
type verdict string

const (
	inserted verdict = "inserted"
	refused  verdict = "refused"
	late     verdict = "late"
)

// insert is the second step.
func (s *Store) insert(ctx context.Context, in intent) (verdict, time.Duration, error) {
	args := make([]any, 0, 2+7*len(in.moving))
	args = append(args, in.id, in.latest)
	for i := range in.moving {
		m := &in.moving[i]
		args = append(args, m.Payload, m.Size, m.Group, m.Priority, wallMillis(m.ExpiresAt), m.from, m.origin)
	}
	r, now, err := s.arrival(ctx, queueMoveInsert, in, args...)
	if err != nil {
		return refused, 0, err
	}
	return verdict(r.text()), until(now, r.int()), r.done()
}

// refuse finds out whether the target has inserted the messages; if not, it never will.
func (s *Store) refuse(ctx context.Context, in intent) (verdict, time.Duration, error) {
	r, now, err := s.arrival(ctx, queueMoveRefuse, in, in.id, in.latest)
	switch {
	case errors.Is(err, store.ErrGone):
		return refused, 0, nil
	case err != nil:
		return refused, 0, err
	}
	v := refused
	if r.int() == 1 {
		v = inserted
	}
	return v, until(now, r.int()), r.done()
}

// again gives a late move another id. It is [store.ErrUnknown] when another process concludes it.
func (s *Store) again(ctx context.Context, in intent) (intent, error) {
	r, _, err := in.from.queue(ctx, queueMoveAgain, queueCall{id: in.source}, in.id, in.noted)
	if err != nil {
		return in, err
	}
	if !r.more() {
		return in, fmt.Errorf("%w: another process concludes the move", store.ErrUnknown)
	}
	next := intent{id: r.text(), from: in.from, source: in.source, noted: in.noted}
	next.read(r.list())
	return next, r.done()
}

// undo takes the first step back, and returns why.
func (s *Store) undo(ctx context.Context, in intent, why error) error {
	if why == nil {
		why = fmt.Errorf("%w: queue %d had refused the messages before", store.ErrUnavailable, in.target)
	}
	if err := in.from.step(ctx, queueMoveUndo, in.source, in.id); err != nil && !errors.Is(err, store.ErrGone) {
		return fmt.Errorf("%w: the messages are given back to queue %d later: %w", store.ErrUnknown, in.source, why)
	}
	return why
}

// step makes another step of a move.
func (s part) step(ctx context.Context, sc *script, q store.QueueID, id string) error {
	_, _, err := s.queue(ctx, sc, queueCall{id: q}, id)
	return err
}

// onlyStates says that a selection says nothing but in which states messages are.
func onlyStates(sel *store.Selection) bool {
	return sel.Group == nil && sel.Consumer == "" && sel.AvailableBefore.IsZero() && sel.From == 0 && sel.UpTo == 0 &&
		sel.Seqs == nil
}
