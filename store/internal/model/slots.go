package model

import "github.com/dabba-mq/dabba/store"

type state uint8

const (
	delayed state = iota + 1 // and was not given back
	leased
	ready
	dead
	backoff // given back with a delay
)

// slot is a touched message: one that is or was leased, was delayed anew, or is dead.
type slot struct {
	seq      store.Seq
	due      Millis      // end of the delay or lease
	since    Millis      // when its last lease began
	token    store.Token // of its last delivery; 0 if there was none
	avail    int64       // tick of first availability; 0 while it never was
	entered  uint32      // deliveries since it entered the queue
	pos      [2]uint32   // its places: in the heap of its state, and in that of its lane: if ready, or if held
	consumer uint32      // text: who holds it, or held it last
	reason   uint32      // text: why it was last given back
	visits   uint32      // the last one of its deliveries that ended; 0 for none
	state    state
}

// slots is a slab with an index by sequence. Freed places are used again.
type slots struct {
	slab  []slot
	free  []uint32
	index map[store.Seq]uint32
}

func (s *slots) find(seq store.Seq) (uint32, bool) {
	i, ok := s.index[seq]
	return i, ok
}

func (s *slots) add(v slot) uint32 {
	if s.index == nil {
		s.index = make(map[store.Seq]uint32)
	}
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
		s.slab[i] = v
	} else {
		i = uint32(len(s.slab))
		s.slab = append(s.slab, v)
	}
	s.index[v.seq] = i
	return i
}

func (s *slots) remove(i uint32) {
	delete(s.index, s.slab[i].seq)
	s.slab[i] = slot{}
	s.free = append(s.free, i)
	if len(s.index) == 0 && len(s.slab) > 16 {
		*s = slots{} // an idle queue keeps no memory of a busy past
	}
}
