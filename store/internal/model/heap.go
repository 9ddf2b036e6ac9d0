package model

import "container/heap"

// order is a binary heap of slot numbers in which each slot knows its place, so that any of them can be taken out. It
// is written out instead of resting on container/heap, which would box a number on every call of the hot path.
type order struct {
	slots *slots
	less  func(a, b *slot) bool
	which int // of the slot's places is the one in this heap
	items []uint32
}

// bySeq orders by sequence.
func bySeq(a, b *slot) bool { return a.seq < b.seq }

// byDue orders by due time: what ends first comes first.
func byDue(a, b *slot) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return a.seq < b.seq
}

// byAge orders by first availability: the oldest comes first.
func byAge(a, b *slot) bool {
	if a.avail != b.avail {
		return a.avail < b.avail
	}
	return a.seq < b.seq
}

func (o *order) empty() bool { return len(o.items) == 0 }

func (o *order) len() int64 { return int64(len(o.items)) }

// top is the first slot; the heap must not be empty.
func (o *order) top() *slot { return o.at(0) }

func (o *order) at(i int) *slot { return &o.slots.slab[o.items[i]] }

func (o *order) before(i, j int) bool { return o.less(o.at(i), o.at(j)) }

// place puts slot number n at position i.
func (o *order) place(n uint32, i int) {
	o.items[i] = n
	o.slots.slab[n].pos[o.which] = uint32(i)
}

func (o *order) swap(i, j int) {
	a, b := o.items[i], o.items[j]
	o.place(a, j)
	o.place(b, i)
}

func (o *order) add(n uint32) {
	o.items = append(o.items, n)
	o.place(n, len(o.items)-1)
	o.up(len(o.items) - 1)
}

// take removes slot number n, which must be in this heap.
func (o *order) take(n uint32) {
	i, last := int(o.slots.slab[n].pos[o.which]), len(o.items)-1
	if o.items[i] != n {
		panic("model: a slot is not where it says it is")
	}
	o.swap(i, last)
	o.items = o.items[:last]
	if i < last && !o.down(i) {
		o.up(i)
	}
	if last == 0 && cap(o.items) > 16 {
		o.items = nil
	}
}

func (o *order) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !o.before(i, parent) {
			return
		}
		o.swap(i, parent)
		i = parent
	}
}

// down says whether it moved anything.
func (o *order) down(i int) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(o.items) {
			break
		}
		if right := child + 1; right < len(o.items) && o.before(right, child) {
			child = right
		}
		if !o.before(child, i) {
			break
		}
		o.swap(i, child)
		i = child
	}
	return i > start
}

// peek returns up to n slot numbers in order and leaves the heap as it is.
func (o *order) peek(n int) []uint32 {
	if o.empty() {
		return nil
	}
	front := &frontier{order: o, at: []int{0}}
	var first []uint32
	for len(front.at) > 0 && len(first) < n {
		i := heap.Pop(front).(int)
		first = append(first, o.items[i])
		for child := 2*i + 1; child <= 2*i+2 && child < len(o.items); child++ {
			heap.Push(front, child)
		}
	}
	return first
}

// frontier is the heap of positions that peek may take next.
type frontier struct {
	order *order
	at    []int
}

// Len, Less, Swap, Push and Pop make it a heap.Interface.
func (f *frontier) Len() int           { return len(f.at) }
func (f *frontier) Less(i, j int) bool { return f.order.before(f.at[i], f.at[j]) }
func (f *frontier) Swap(i, j int)      { f.at[i], f.at[j] = f.at[j], f.at[i] }

// Push appends a position.
func (f *frontier) Push(x any) { f.at = append(f.at, x.(int)) }

// Pop removes the last one.
func (f *frontier) Pop() any {
	n := len(f.at) - 1
	x := f.at[n]
	f.at = f.at[:n]
	return x
}
