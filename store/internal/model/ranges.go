package model

import (
	"sort"

	"github.com/dabba-mq/dabba/store"
)

// span is the sequences from up to and including to.
type span struct {
	from, to store.Seq
}

// ranges is an ordered set of sequences as disjoint, non-adjacent spans. Appending behind and taking from the front,
// which is nearly all that happens, cost O(1).
type ranges struct {
	spans []span
	head  int // spans before it were used up
	count int64
}

// append adds seq, which is above all others.
func (r *ranges) append(seq store.Seq) {
	r.count++
	if n := len(r.spans); n > r.head && r.spans[n-1].to+1 == seq {
		r.spans[n-1].to = seq
		return
	}
	r.spans = append(r.spans, span{seq, seq})
}

// add puts in any seq.
func (r *ranges) add(seq store.Seq) {
	live := r.spans[r.head:]
	i := sort.Search(len(live), func(i int) bool { return live[i].to+1 >= seq })
	switch {
	case i == len(live):
		r.append(seq)
		return
	case live[i].from <= seq && seq <= live[i].to:
		return
	case live[i].to+1 == seq:
		live[i].to = seq
		if i+1 < len(live) && live[i+1].from == seq+1 {
			live[i].to = live[i+1].to
			r.drop(i + 1)
		}
	case live[i].from == seq+1:
		live[i].from = seq
	default:
		r.insert(i, span{seq, seq})
	}
	r.count++
}

// insert makes s the i-th live span.
func (r *ranges) insert(i int, s span) {
	at := r.head + i
	r.spans = append(r.spans, span{})
	copy(r.spans[at+1:], r.spans[at:])
	r.spans[at] = s
}

// forgetFirst drops the lowest spans until at most n are left.
func (r *ranges) forgetFirst(n int) {
	for len(r.spans)-r.head > n {
		s := r.spans[r.head]
		r.count -= int64(s.to-s.from) + 1
		r.drop(0)
	}
}

// drop removes the i-th live span.
func (r *ranges) drop(i int) {
	if i > 0 {
		r.spans = append(r.spans[:r.head+i], r.spans[r.head+i+1:]...)
		return
	}
	r.head++
	switch {
	case r.head == len(r.spans):
		r.spans, r.head = nil, 0
	case r.head >= 64 && r.head*2 >= len(r.spans):
		r.spans = append([]span(nil), r.spans[r.head:]...)
		r.head = 0
	}
}

func (r *ranges) has(seq store.Seq) bool {
	live := r.spans[r.head:]
	i := sort.Search(len(live), func(i int) bool { return live[i].to >= seq })
	return i < len(live) && live[i].from <= seq
}
