package model

import (
	"slices"

	"github.com/dabba-mq/dabba/store"
)

type attemptKey = [16]byte

// attempts remembers what claims with an attempt gave, so that they can be repeated.
type attempts struct {
	seen   map[attemptKey]attempt
	ending []attemptKey // in the order they were added
}

type attempt struct {
	token store.Token
	ends  Millis
	seqs  []store.Seq
}

func (t *attempts) find(key attemptKey, now Millis) (attempt, bool) {
	a, ok := t.seen[key]
	return a, ok && a.ends > now
}

func (t *attempts) add(ev Claimed) {
	t.restore(ev.Attempt, attempt{ev.Token, ev.AttemptEnds, slices.Clone(ev.Seqs)})
}

func (t *attempts) restore(key attemptKey, a attempt) {
	if t.seen == nil {
		t.seen = make(map[attemptKey]attempt)
	}
	if _, again := t.seen[key]; again {
		t.ending = slices.DeleteFunc(t.ending, func(k attemptKey) bool { return k == key })
	}
	t.ending = append(t.ending, key)
	t.seen[key] = a
}

// expire forgets attempts whose window has ended.
func (t *attempts) expire(now Millis) {
	for len(t.ending) > 0 && t.seen[t.ending[0]].ends <= now {
		delete(t.seen, t.ending[0])
		t.ending = t.ending[1:]
	}
	if len(t.ending) == 0 {
		*t = attempts{}
	}
}

// holds says whether all messages of an attempt are still leased under its token.
func (q *Queue) holds(a attempt) bool {
	for _, seq := range a.seqs {
		n, touched := q.slots.find(seq)
		if !touched || q.slots.slab[n].state != leased || q.slots.slab[n].token != a.token {
			return false
		}
	}
	return true
}
