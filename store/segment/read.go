package segment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// walkFar is how far ahead the next wanted message may lie for a walk to go on to it instead of seeking.
const walkFar = 4 * pointEvery

// damage is a message that cannot be read.
type damage struct {
	seq store.Seq
	err error
}

// read calls fn for each of the messages, in order, with its place in seqs; the payload is fn's to keep. Messages that
// left the queue meanwhile are passed over, and those whose bytes are damaged are returned.
func (s *Store) read(q *queue, seqs []store.Seq, fn func(i int, m model.Stored)) ([]damage, error) {
	var damaged []damage
	r := reading{store: s, queue: q, seqs: seqs, fn: fn}
	for r.next < len(seqs) {
		before := r.next
		err := r.walk()
		switch {
		case errors.Is(err, journal.ErrReleased):
			continue // it was copied to another file just now
		case errors.Is(err, store.ErrCorrupt):
			damaged = append(damaged, damage{seqs[r.next], fmt.Errorf("message %d of queue %d: %w", seqs[r.next], q.id, err)})
			r.next++
		case err != nil:
			return nil, fmt.Errorf("read messages of queue %d: %w", q.id, err)
		case r.next == before:
			return nil, fmt.Errorf("read message %d of queue %d: not where it should be: %w", seqs[r.next], q.id, store.ErrCorrupt)
		}
	}
	return damaged, nil
}

// reading is the state of one read.
type reading struct {
	store *Store
	queue *queue
	seqs  []store.Seq
	next  int // in seqs
	fn    func(i int, m model.Stored)
}

// walk seeks the next message and goes on as long as the ones after it are near.
func (r *reading) walk() error {
	from, ok := r.queue.where.find(r.seqs[r.next])
	if !ok {
		r.next++ // it is gone
		return nil
	}
	return r.store.journal.Walk(from, func(_ journal.LSN, pos journal.Position, rec record.Record) (bool, error) {
		if rec.Object != uint64(r.queue.id) {
			return true, nil
		}
		first, n, err := holds(rec)
		if err != nil {
			return false, err
		}
		if n == 0 {
			return true, nil
		}
		if r.seqs[r.next] < first {
			return false, fmt.Errorf("message %d is missing before %v: %w", r.seqs[r.next], pos, store.ErrCorrupt)
		}
		if err := r.take(rec, first, n); err != nil {
			return false, err
		}
		return r.goOn(pos, first), nil
	})
}

// take hands on the wanted messages that the record holds.
func (r *reading) take(rec record.Record, first store.Seq, n int) error {
	kept := false
	for r.next < len(r.seqs) {
		seq := r.seqs[r.next]
		if seq < first || seq >= first+store.Seq(n) {
			return nil
		}
		if !kept { // the walk uses its buffer again
			rec.Payload, kept = slices.Clone(rec.Payload), true
		}
		m, err := message(rec, seq)
		if err != nil {
			return err
		}
		r.fn(r.next, m)
		r.next++
	}
	return nil
}

// goOn says whether walking on from a record at pos soon leads to the next message.
func (r *reading) goOn(pos journal.Position, first store.Seq) bool {
	if r.next == len(r.seqs) || r.seqs[r.next] < first {
		return false
	}
	next, ok := r.queue.where.find(r.seqs[r.next])
	return ok && next.File == pos.File && next.Offset <= pos.Offset+walkFar
}
