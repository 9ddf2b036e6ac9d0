package model

import (
	"cmp"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// agenda is a binary heap of moments with what is due then. Entries are not taken out when they become void: whoever
// takes them looks whether they still hold.
type agenda []entry

type entry struct {
	at Millis
	id uint64
}

func (e entry) before(other entry) bool {
	return e.at < other.at || e.at == other.at && e.id < other.id
}

func (a *agenda) add(at Millis, id uint64) {
	h := append(*a, entry{at, id})
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
	*a = h
}

// take removes the first entry; there must be one.
func (a *agenda) take() entry {
	h := *a
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	h.sink(0)
	if last == 0 {
		h = nil
	}
	*a = h
	return first
}

func (a agenda) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(a) {
			return
		}
		if child+1 < len(a) && a[child+1].before(a[child]) {
			child++
		}
		if !a[child].before(a[i]) {
			return
		}
		a[i], a[child] = a[child], a[i]
		i = child
	}
}

// tidy drops the entries that hold no more, and those that are there twice, once there are more than twice as many entries
// as the count that may hold: so it costs little for each entry added.
func (a *agenda) tidy(count int64, holds func(id store.Seq) bool) {
	if n := len(*a); n <= 64 || int64(n) <= 2*count {
		return
	}
	h := make(agenda, 0, count)
	for _, e := range *a {
		if holds(store.Seq(e.id)) {
			h = append(h, e)
		}
	}
	slices.SortFunc(h, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	*a = slices.Compact(h) // a sorted list is a heap
}

// order makes a heap of entries in any order.
func (a agenda) order() {
	for i := len(a)/2 - 1; i >= 0; i-- {
		a.sink(i)
	}
}
