package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/memlimit"
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
// left the queue meanwhile are passed over, and those whose bytes are damaged are returned. The payloads are charged to the
// context's share of the memory; without room for one the error is a [*memlimit.Error].
func (s *Store) read(ctx context.Context, q *queue, seqs []store.Seq, fn func(i int, m model.Stored)) ([]damage, error) {
	var damaged []damage
	r := reading{store: s, queue: q, seqs: seqs, fn: fn, share: memlimit.From(ctx)}
	for r.next < len(seqs) {
		before := r.next
		from, _, _ := q.where.find(seqs[before])
		err := r.walk()
		now, _, _ := q.where.find(seqs[before])
		switch {
		case err == nil && r.next > before:
		case now != from, errors.Is(err, journal.ErrReleased) && r.next > before:
			// it was copied to another file just now, or one after those that were read
		case err == nil, errors.Is(err, journal.ErrReleased), errors.Is(err, store.ErrCorrupt):
			if err == nil {
				err = fmt.Errorf("it is not behind %v: %w", from, store.ErrCorrupt)
			}
			damaged = append(damaged, damage{seqs[r.next], fmt.Errorf("message %d of queue %d: %w", seqs[r.next], q.id, err)})
			r.next++
		default:
			return nil, fmt.Errorf("read messages of queue %d: %w", q.id, err)
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
	share *memlimit.Share
}

// walk seeks the next message and goes on as long as the ones after it are near.
func (r *reading) walk() error {
	from, last, ok := r.queue.where.find(r.seqs[r.next])
	if !ok {
		r.next++ // it is gone
		return nil
	}
	return r.store.journal.Skim(from, func(rec journal.Skimmed) (bool, error) {
		if rec.Object != uint64(r.queue.id) {
			return true, nil
		}
		c, err := carried(rec, r.share)
		if err != nil || c == nil {
			return err == nil, err
		}
		if r.seqs[r.next] < c.first {
			return false, fmt.Errorf("message %d is missing before %v: %w", r.seqs[r.next], rec.Position, store.ErrCorrupt)
		}
		for r.next < len(r.seqs) && c.has(r.seqs[r.next]) {
			if err := c.messages(r.run(c.last), r.hand); err != nil {
				return false, err
			}
		}
		return r.goOn(rec.Position, c.first, last), nil
	})
}

// run is the next wanted messages as far as their sequences follow each other, up to last.
func (r *reading) run(last store.Seq) []store.Seq {
	n := 1
	for r.next+n < len(r.seqs) && r.seqs[r.next+n] == r.seqs[r.next]+store.Seq(n) && r.seqs[r.next+n] <= last {
		n++
	}
	return r.seqs[r.next : r.next+n]
}

// hand hands on the next wanted message.
func (r *reading) hand(m model.Stored) {
	r.fn(r.next, m)
	r.next++
}

// goOn says whether walking on from a record at pos, which holds messages from first on, soon leads to the next wanted
// one. Those after last may lie anywhere, in the same file too.
func (r *reading) goOn(pos journal.Position, first, last store.Seq) bool {
	if r.next == len(r.seqs) || r.seqs[r.next] < first || r.seqs[r.next] > last {
		return false
	}
	next, _, ok := r.queue.where.find(r.seqs[r.next])
	return ok && next.File == pos.File && next.Offset <= pos.Offset+walkFar
}

// carrier is a record that carries messages: sequences first to last. messages calls fn for a run of them; the payloads
// are the receiver's to keep.
type carrier struct {
	first, last store.Seq
	messages    func(run []store.Seq, fn func(model.Stored)) error
}

func (c *carrier) has(seq store.Seq) bool { return seq >= c.first && seq <= c.last }

// carried looks at a record; nil if it carries no messages. What it reads of them is charged to the share.
func carried(rec journal.Skimmed, share *memlimit.Share) (c *carrier, err error) {
	switch {
	case rec.Type == typeKept:
		c, err = carriedKept(rec, share)
	case rec.Type != typeSent && rec.Type != typeMoved:
		return nil, nil
	case rec.Whole:
		c, err = carriedWhole(rec, share)
	default:
		c, err = carriedLong(rec, share)
	}
	if err != nil {
		return nil, fmt.Errorf("record at %v: %w", rec.Position, err)
	}
	return c, nil
}

// carriedWhole copies only what is wanted: the walk uses its buffer again.
func carriedWhole(rec journal.Skimmed, share *memlimit.Share) (*carrier, error) {
	b, err := decodeBatch(rec.Record)
	return &carrier{b.First, b.First + store.Seq(b.Len()) - 1, func(run []store.Seq, fn func(model.Stored)) error {
		start, _ := b.Span(run[0])
		_, end := b.Span(run[len(run)-1])
		if err := share.Grow(int64(end - start)); err != nil {
			return err
		}
		contents := slices.Clone(rec.Payload[b.HeadLen+start : b.HeadLen+end])
		return handOut(b, run, start, contents, fn)
	}}, err
}

// handOut calls fn for a run of messages, whose contents begin at start.
func handOut(b model.Batch, run []store.Seq, start int, contents []byte, fn func(model.Stored)) error {
	for _, seq := range run {
		from, to := b.Span(seq)
		m, err := b.MessageOf(seq, contents[from-start:to-start:to-start])
		if err != nil {
			return err
		}
		fn(m)
	}
	return nil
}

// carriedLong reads of a long record only its head and what is wanted, a run of messages at a time.
func carriedLong(rec journal.Skimmed, share *memlimit.Share) (*carrier, error) {
	head := rec.Payload
	if n := model.HeadLen(head); n > len(head) && n <= record.MaxPayload {
		if err := share.Grow(int64(n)); err != nil {
			return nil, err
		}
		head = make([]byte, n)
		if err := rec.ReadPart(head, 0); err != nil {
			return nil, err
		}
	}
	b, err := model.DecodeHead(head, store.QueueID(rec.Object))
	if err != nil {
		return nil, err
	}
	return &carrier{b.First, b.First + store.Seq(b.Len()) - 1, func(run []store.Seq, fn func(model.Stored)) error {
		start, _ := b.Span(run[0])
		_, end := b.Span(run[len(run)-1])
		if err := share.Grow(int64(end - start)); err != nil {
			return err
		}
		contents := make([]byte, end-start)
		if err := rec.ReadPart(contents, b.HeadLen+start); err != nil {
			return err
		}
		if err := handOut(b, run, start, contents, fn); err != nil {
			return fmt.Errorf("record at %v: %w", rec.Position, err)
		}
		return nil
	}}, nil
}

// carriedKept reads a kept message, which is always wanted whole.
func carriedKept(rec journal.Skimmed, share *memlimit.Share) (*carrier, error) {
	payload := slices.Clone(rec.Payload)
	if !rec.Whole {
		if err := share.Grow(int64(rec.Length)); err != nil {
			return nil, err
		}
		r, err := rec.ReadWhole()
		if err != nil {
			return nil, err
		}
		payload = r.Payload
	}
	k, err := model.DecodeKept(payload)
	return &carrier{k.Seq, k.Seq, func(_ []store.Seq, fn func(model.Stored)) error { fn(k.Stored); return nil }}, err
}
