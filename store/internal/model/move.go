package model

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Corpse is a dead message that could be moved.
type Corpse struct {
	Seq    store.Seq
	Size   uint32
	Reason string
	// Entered counts its deliveries in this queue.
	Entered uint32
}

// Dead lists up to limit dead messages, oldest first.
func (q *Queue) Dead(now Millis, limit int) []Corpse {
	q.advance(now)
	var list []Corpse
	for _, n := range q.dead.peek(limit) {
		list = append(list, q.corpse(n))
	}
	return list
}

// StillDead returns those of the messages that are dead now.
func (q *Queue) StillDead(now Millis, list []Moved) []Moved {
	q.advance(now)
	still := list[:0:0]
	for _, m := range list {
		if q.isDead(m.Seq) {
			still = append(still, m)
		}
	}
	return still
}

func (q *Queue) corpse(n uint32) Corpse {
	s := &q.slots.slab[n]
	size, _ := q.cols.get(s.seq)
	return Corpse{Seq: s.seq, Size: size, Reason: q.texts.get(s.reason), Entered: s.entered}
}

// DeadLen counts dead messages.
func (q *Queue) DeadLen() int64 { return q.dead.len() }

// ApplyMovedOut removes messages that went elsewhere.
func (q *Queue) ApplyMovedOut(ev MovedOut) {
	q.advance(ev.At)
	for _, seq := range ev.Seqs {
		q.erase(seq)
		q.moved.add(seq)
	}
	q.moved.forgetFirst(movedSpans)
}

// ApplyMovedIn appends messages that came from elsewhere.
func (q *Queue) ApplyMovedIn(ev MovedIn) {
	q.advance(ev.At)
	if ev.First != q.next {
		panic(fmt.Sprintf("model: queue %d is moved message %d, expected %d", q.id, ev.First, q.next))
	}
	for _, size := range ev.Sizes {
		q.add(ev.At, Meta{Size: size})
	}
}

// moveBytes bounds the payloads of one move.
const moveBytes = 4 << 20

// Fit cuts the list where its sizes pass 4 MiB, after at least one message.
func Fit(list []Corpse) []Corpse {
	var sum int64
	for i, c := range list {
		sum += int64(c.Size)
		if i > 0 && sum > moveBytes {
			return list[:i]
		}
	}
	return list
}
