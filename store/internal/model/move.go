package model

import (
	"fmt"
	"hash/crc32"

	"github.com/dabba-mq/dabba/store"
)

// Body is a message that could be moved, without what it says.
type Body struct {
	Seq    store.Seq
	Size   uint32
	Reason string
	// Entered counts its deliveries in this queue.
	Entered  uint32
	Group    string
	Priority uint8
	Expires  Millis
}

// Movable lists up to limit messages that a selection chooses and that are not leased, and where to go on.
func (q *Queue) Movable(now Millis, sel *store.Selection, limit int) ([]Body, store.Seq) {
	q.advance(now)
	var seqs []store.Seq
	var next store.Seq
	if sel.States == store.StateDead && onlyStates(sel) {
		for _, n := range q.dead.peek(limit) {
			seqs = append(seqs, q.slots.slab[n].seq)
		}
		if q.dead.len() > int64(len(seqs)) {
			next = 1
		}
	} else {
		free := *sel
		if free.States == 0 {
			free.States = store.AnyState
		}
		if free.States &^= store.StateLeased; free.States == 0 {
			return nil, 0
		}
		seqs, next = q.choose(&free, limit)
	}
	list := make([]Body, len(seqs))
	for i, seq := range seqs {
		list[i] = q.body(seq)
	}
	return list, next
}

func (q *Queue) body(seq store.Seq) Body {
	b := Body{Seq: seq, Size: q.Size(seq), Group: q.names.get(q.cols.group(seq)), Priority: q.cols.priority(seq)}
	b.Expires = q.cols.expires(seq)
	if n, touched := q.slots.find(seq); touched {
		s := &q.slots.slab[n]
		b.Reason, b.Entered = q.texts.get(s.reason), s.entered
		if s.state == dead {
			b.Expires = 0
		}
	}
	return b
}

// StillMovable returns those of the messages that can be moved now as they were found.
func (q *Queue) StillMovable(now Millis, sel *store.Selection, list []Moved) []Moved {
	q.advance(now)
	still := list[:0:0]
	states := sel.States
	if states == 0 {
		states = store.AnyState
	}
	for _, m := range list {
		if !q.Live(m.Seq) {
			continue
		}
		st := q.stateOf(m.Seq)
		if st&states != 0 && st != store.StateLeased && q.body(m.Seq) == m.Body {
			still = append(still, m)
		}
	}
	return still
}

// DeadLen counts dead messages.
func (q *Queue) DeadLen() int64 { return q.dead.len() }

// ApplyMoved carries out both halves of a move. Of one within a queue the messages arrive first, so that their groups stay
// known.
func ApplyMoved(source, target *Queue, out MovedOut, in MovedIn) {
	if source == target {
		source.ApplyMovedIn(in)
		source.ApplyMovedOut(out)
		return
	}
	source.ApplyMovedOut(out)
	target.ApplyMovedIn(in)
}

// ApplyMovedOut removes messages that went elsewhere.
func (q *Queue) ApplyMovedOut(ev MovedOut) {
	q.advance(ev.At)
	for _, seq := range ev.Seqs {
		q.erase(ev.At, seq, store.MovedAway)
		q.movedAway.add(seq)
	}
	q.movedAway.forgetFirst(movedSpans)
}

// ApplyMovedIn appends messages that came from elsewhere.
func (q *Queue) ApplyMovedIn(ev MovedIn) {
	q.advance(ev.At)
	if ev.First != q.next {
		panic(fmt.Sprintf("model: queue %d is moved message %d, expected %d", q.id, ev.First, q.next))
	}
	for _, m := range ev.Entries {
		q.add(ev.At, m)
	}
}

// moveBytes bounds the payloads of one move.
const moveBytes = 4 << 20

// Fit cuts the list where its sizes pass 4 MiB, after at least one message, and corrects where to go on: at the lowest
// sequence that is left, since dead messages are listed by age.
func Fit(list []Body, next store.Seq) ([]Body, store.Seq) {
	var sum int64
	for i, c := range list {
		sum += int64(c.Size)
		if i == 0 || sum <= moveBytes {
			continue
		}
		for _, left := range list[i:] {
			if next == 0 || left.Seq < next {
				next = left.Seq
			}
		}
		return list[:i], next
	}
	return list, next
}

// alias is a short name of where a message was first sent, by which those that were moved here are found.
func alias(q store.QueueID, seq store.Seq) uint32 {
	w := writer{make([]byte, 0, 16)}
	w.u64(uint64(q))
	w.seq(seq)
	return max(crc32.Checksum(w.b, castagnoli), 1)
}
