package model

import (
	"iter"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// lookLimit bounds how many messages one call looks at.
const lookLimit = 100_000

// choose lists up to limit messages that a selection chooses, in the order of their sequences, and where to go on; 0 when
// nothing is left.
func (q *Queue) choose(sel *store.Selection, limit int) (seqs []store.Seq, next store.Seq) {
	looked := 0
	for seq := range q.candidates(sel) {
		if looked++; len(seqs) == limit || looked > lookLimit {
			return seqs, seq
		}
		if q.chosen(sel, seq) {
			seqs = append(seqs, seq)
		}
	}
	return seqs, 0
}

// candidates yields messages that may be chosen, and all that are, in rising order.
func (q *Queue) candidates(sel *store.Selection) iter.Seq[store.Seq] {
	if sel.Seqs != nil {
		return func(yield func(store.Seq) bool) {
			i, _ := slices.BinarySearch(sel.Seqs, max(sel.From, 1))
			for _, seq := range sel.Seqs[i:] {
				if !yield(seq) {
					return
				}
			}
		}
	}
	from := max(sel.From, 1)
	messages := q.liveFrom(from)
	if sel.Consumer != "" || sel.States != 0 && sel.States&(store.StateReady|store.StateDelayed) == 0 {
		messages = q.touchedFrom(from) // few, in a long queue
	}
	return func(yield func(store.Seq) bool) {
		for seq := range messages {
			if sel.UpTo != 0 && seq > sel.UpTo || !yield(seq) {
				return
			}
		}
	}
}

// touchedFrom yields the sequences of the messages with a slot from one on, in rising order. Chunks without any, of which
// a queue of 1,000,000 messages has 4,000, are passed over.
func (q *Queue) touchedFrom(from store.Seq) iter.Seq[store.Seq] {
	return func(yield func(store.Seq) bool) {
		for seq := range q.cols.slotted(from) {
			if _, touched := q.slots.find(seq); touched && !yield(seq) {
				return
			}
		}
	}
}

// onlyStates says that a selection says nothing but in which states messages are.
func onlyStates(sel *store.Selection) bool {
	return sel.Group == nil && sel.Consumer == "" && sel.AvailableBefore.IsZero() && sel.From == 0 && sel.UpTo == 0 &&
		sel.Seqs == nil
}

// chosen says whether all of a selection applies to a message.
func (q *Queue) chosen(sel *store.Selection, seq store.Seq) bool {
	if seq < sel.From || sel.UpTo != 0 && seq > sel.UpTo || !q.Live(seq) {
		return false
	}
	if sel.States != 0 && sel.States&q.stateOf(seq) == 0 {
		return false
	}
	if sel.Group != nil && q.names.get(q.cols.group(seq)) != *sel.Group {
		return false
	}
	if sel.Consumer != "" {
		n, touched := q.slots.find(seq)
		if !touched || q.slots.slab[n].state != leased || q.texts.get(q.slots.slab[n].consumer) != sel.Consumer {
			return false
		}
	}
	return sel.AvailableBefore.IsZero() || Time(Millis(q.availOf(seq)*tickMillis)).Before(sel.AvailableBefore)
}

// availOf is the tick in which a message was first available, or will be.
func (q *Queue) availOf(seq store.Seq) int64 {
	n, touched := q.slots.find(seq)
	switch {
	case !touched && q.cols.kind(seq) == planned:
		return tick(q.dueOf(seq))
	case !touched:
		return q.cols.avail(seq)
	case q.slots.slab[n].avail == 0:
		return tick(q.slotDue(&q.slots.slab[n]))
	}
	return q.slots.slab[n].avail
}

// stateOf is the state of a live message.
func (q *Queue) stateOf(seq store.Seq) store.States {
	if n, touched := q.slots.find(seq); touched {
		switch q.slots.slab[n].state {
		case delayed, backoff:
			return store.StateDelayed
		case leased:
			return store.StateLeased
		case dead:
			return store.StateDead
		case ready:
		}
		return store.StateReady
	}
	if q.cols.kind(seq) == planned {
		return store.StateDelayed
	}
	return store.StateReady
}

// liveFrom yields the sequences of all messages from one on, in rising order.
func (q *Queue) liveFrom(from store.Seq) iter.Seq[store.Seq] {
	return func(yield func(store.Seq) bool) {
		for seq, k := range q.cols.seqs(from) {
			if k == none {
				if _, touched := q.slots.find(seq); !touched {
					continue
				}
			}
			if !yield(seq) {
				return
			}
		}
	}
}

// liveSeqs yields the sequences of all messages in rising order.
func (q *Queue) liveSeqs() iter.Seq[store.Seq] { return q.liveFrom(1) }
