package model

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

// keep drops the entries that hold no more.
func (a *agenda) keep(holds func(entry) bool) {
	h := (*a)[:0:0]
	for _, e := range *a {
		if holds(e) {
			h = append(h, e)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
	*a = h
}
