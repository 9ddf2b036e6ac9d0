package model

import (
	"slices"

	"github.com/dabba-mq/dabba/store"
)

type attemptKey = [16]byte

// attempts remembers what claims with an attempt gave, so that they can be repeated.
type attempts struct {
	seen map[attemptKey]attempt
	// ending holds the keys in the order they were added, with the ends they had: an entry of a key that was added again
	// or forgotten is void.
	ending []attemptEnd
	// held finds the attempts by what their messages are leased under.
	held map[store.Token]attemptKey
}

type attemptEnd struct {
	key  attemptKey
	ends Millis
}

type attempt struct {
	token store.Token
	ends  Millis
	// seqs are what it gave; none once it cannot be repeated any more.
	seqs []store.Seq
}

// find finds an attempt whose window has not ended. None has the zero key.
func (t *attempts) find(key attemptKey, now Millis) (attempt, bool) {
	a, ok := t.seen[key]
	return a, ok && a.ends > now
}

func (t *attempts) add(ev Claimed) {
	t.restore(ev.Attempt, attempt{ev.Token, ev.AttemptEnds, slices.Clone(ev.Seqs)})
}

func (t *attempts) restore(key attemptKey, a attempt) {
	if t.seen == nil {
		t.seen, t.held = make(map[attemptKey]attempt), make(map[store.Token]attemptKey)
	}
	if was, again := t.seen[key]; again {
		delete(t.held, was.token)
	}
	t.seen[key], t.held[a.token] = a, key
	t.ending = append(t.ending, attemptEnd{key, a.ends})
	if len(t.ending) > 2*len(t.seen)+16 {
		t.ending = t.valid()
	}
}

// spend makes the claim with the token one that cannot be repeated, which is remembered.
func (t *attempts) spend(token store.Token) {
	if key, ok := t.held[token]; ok {
		delete(t.held, token)
		t.seen[key] = attempt{token: token, ends: t.seen[key].ends}
	}
}

// valid lists the entries that are not void.
func (t *attempts) valid() []attemptEnd {
	last := make(map[attemptKey]int, len(t.seen))
	for i, e := range t.ending {
		last[e.key] = i
	}
	list := make([]attemptEnd, 0, len(t.seen))
	for i, e := range t.ending {
		if _, seen := t.seen[e.key]; seen && last[e.key] == i {
			list = append(list, e)
		}
	}
	return list
}

// expire forgets attempts whose window has ended.
func (t *attempts) expire(now Millis) {
	for len(t.ending) > 0 && t.ending[0].ends <= now {
		e := t.ending[0]
		t.ending = t.ending[1:]
		if a, ok := t.seen[e.key]; ok && a.ends <= now {
			delete(t.held, a.token)
			delete(t.seen, e.key)
		}
	}
	if len(t.ending) == 0 {
		*t = attempts{}
	}
}

// holds says whether all messages of an attempt are still leased under its token.
func (q *Queue) holds(a attempt) bool {
	if len(a.seqs) == 0 {
		return false
	}
	for _, seq := range a.seqs {
		n, touched := q.slots.find(seq)
		if !touched || q.slots.slab[n].state != leased || q.slots.slab[n].token != a.token {
			return false
		}
	}
	return true
}

// spent says whether a lease of the attempt was changed, or a message of it has left the queue.
func (q *Queue) spent(a attempt) bool {
	return len(a.seqs) == 0 || slices.ContainsFunc(a.seqs, func(seq store.Seq) bool { return !q.Live(seq) })
}
