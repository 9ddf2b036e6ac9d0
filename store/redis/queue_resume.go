package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var (
	queueMoveLeft   = newLook("queue_move_left")
	queueMoveIntent = newLook("queue_move_intent")
	queueMoveForget = newRepeatable("queue_move_forget")
	moveNote        = newRepeatable("move_note")
	moveDue         = newScript("move_due")
	moveClear       = newRepeatable("move_clear")
)

const (
	// movePatience is when a move that is not concluded stands still. It is not less than the time that Move takes.
	movePatience = moveTime
	// moveMemory is for how long it is remembered that a queue had a move: for longer than one that was noted may take to
	// begin and to be inserted, see MOVE_TIME in lua/queue_moves.lua.
	moveMemory = 2 * time.Minute
	// movesEvery is how often a process looks for moves that stand still.
	movesEvery = 5 * time.Second
)

// movesKey is the sorted set of the queues with moves under way, by when the last one was noted.
func (s *Store) movesKey() []string { return []string{s.o.Prefix + "{q}moves"} }

// noteMoves says that a move begins, and returns when that was.
func (s *Store) noteMoves(ctx context.Context, source, target store.QueueID) (int64, error) {
	_, now, err := s.timed(ctx, moveNote, s.movesKey(), decimal(uint64(source)), decimal(uint64(target)))
	return now, err
}

// lookAfterMoves concludes what stands still until the store is closed. Any number of processes may do so at once.
func (s *Store) lookAfterMoves() {
	tick := time.NewTicker(movesEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		if err := s.concludeMoves(s.life); err != nil && s.life.Err() == nil && !errors.Is(err, store.ErrClosed) {
			s.o.Warning(fmt.Sprintf("Whether moves between queues have stopped half-way could not be looked for: %v. It will be tried again.", err))
		}
	}
}

// concludeMoves goes on with the moves that stand still, and forgets those that are done.
func (s *Store) concludeMoves(ctx context.Context) error {
	r, now, err := s.timed(ctx, moveDue, s.movesKey(), millis(movePatience))
	if err != nil {
		return err
	}
	for r.more() {
		id, noted := r.uint(), r.int()
		left, e := s.concludeMovesOf(ctx, store.QueueID(id))
		if e == nil && !left && noted+millis(moveMemory) <= now {
			_, e = s.call(ctx, moveClear, s.movesKey(), decimal(id), noted)
		}
		err = errors.Join(err, e)
	}
	return errors.Join(err, r.done())
}

// concludeMovesOf does so for one queue, and says whether there may be more to do.
func (s *Store) concludeMovesOf(ctx context.Context, id store.QueueID) (bool, error) {
	parts, err := s.partsOf(ctx, id)
	if errors.Is(err, store.ErrGone) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	left, errs := abreast(parts, func(_ int, p part) (bool, error) { return p.concludeMovesHere(ctx, id) })
	return slices.Contains(left, true), errors.Join(errs...)
}

// concludeMovesHere does so for one part.
func (s part) concludeMovesHere(ctx context.Context, id store.QueueID) (bool, error) {
	r, _, err := s.queue(ctx, queueMoveLeft, queueCall{id: id}, int64(movePatience/time.Millisecond))
	if errors.Is(err, store.ErrGone) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	left := r.int() == 1
	out, in := r.list(), r.list()
	if err := r.done(); err != nil {
		return true, err
	}
	if err := s.resumeAll(ctx, id, out); err != nil {
		return true, err
	}
	for in.more() {
		if err := s.forgetMove(ctx, id, in.text()); err != nil {
			return true, err
		}
	}
	return left, in.done()
}

// resume goes on with a move that its source has noted.
func (s part) resume(ctx context.Context, source store.QueueID, id string) error {
	r, _, err := s.queue(ctx, queueMoveIntent, queueCall{id: source}, id)
	if errors.Is(err, store.ErrGone) {
		return nil
	}
	if err != nil || !r.more() {
		return err
	}
	in := intent{id: id, from: s, source: source}
	in.read(r.list())
	if err := r.done(); err != nil {
		return err
	}
	if in.noted, err = s.noteMoves(ctx, source, in.target); err != nil {
		return err
	}
	if _, err = s.conclude(ctx, in); err != nil && !errors.Is(err, store.ErrUnknown) {
		return nil // taken back
	}
	return err
}

// forgetMove makes the last step of a move into a queue, after those before it: the target goes on refusing to insert it
// again as long as the source may ask for that.
func (s part) forgetMove(ctx context.Context, target store.QueueID, id string) error {
	source, from, err := s.sourceOf(ctx, id)
	if err == nil {
		err = from.resume(ctx, source, id)
	}
	if err != nil && !errors.Is(err, store.ErrGone) {
		return err
	}
	return s.step(ctx, queueMoveForget, target, id)
}
