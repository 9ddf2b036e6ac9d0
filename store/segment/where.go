package segment

import (
	"slices"
	"sort"
	"sync"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
)

// pointEvery is the distance in bytes between the places a queue remembers in a data file. A lookup reads about half of
// it more than it needs; each place costs 8 bytes.
const pointEvery = 8 << 10

// where says in which data file, and about where in it, the messages of one queue are. Its lock is held for lookups and
// changes in memory only. The zero value is that of a new queue.
type where struct {
	mu      sync.Mutex
	extents []*extent // by rising sequence, not overlapping
	placed  store.Seq // the highest sequence whose place is known
	// early holds messages that left the queue before the committer told their place.
	early map[store.Seq]uint32
	// cleared is the highest sequence of messages that all left at once: those whose place comes late are not live.
	cleared store.Seq
	// floor is, for a partition of a log, the lowest sequence that is left; 0 for a queue.
	floor store.Seq
	// owner names it for people.
	owner string
	// dropped is set when the queue is gone: places that come late are of no interest.
	dropped bool
}

// extent is the part of a queue that lies in one file.
type extent struct {
	file        uint32
	first, last store.Seq
	live        int64 // messages still in the queue
	bytes       int64 // their sizes
	points      []point
	end         uint32 // offset of the last record: where the next point is measured from
	// merging is set while live messages are copied to another file.
	merging *copying
}

// point says that the record holding sequence first+seq starts at offset.
type point struct {
	seq    uint32
	offset uint32
}

// copying follows what happens to an extent while a merge copies it.
type copying struct {
	to    *extent
	upTo  store.Seq // sequences up to here were looked at
	live  int64     // of those, copied and still live
	bytes int64
}

// place records that a record at pos holds n messages from first on, of which live with the given sizes are in the
// queue. A record that was placed before is ignored.
func (w *where) place(pos journal.Position, first store.Seq, n int, live, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.placeLocked(pos, first, n, live, bytes)
}

// placeLocked is place with w.mu held.
func (w *where) placeLocked(pos journal.Position, first store.Seq, n int, live, bytes int64) {
	last := first + store.Seq(n) - 1
	if w.dropped || last <= w.placed {
		return
	}
	w.placed = last
	if last <= w.cleared {
		live, bytes = 0, 0
	}
	for seq := first; len(w.early) > 0 && seq <= last; seq++ {
		if size, gone := w.early[seq]; gone {
			delete(w.early, seq)
			live--
			bytes -= int64(size)
		}
	}
	e := w.tail()
	if e == nil || e.file != pos.File {
		if e != nil && e.live == 0 {
			w.remove(len(w.extents) - 1)
		}
		e = &extent{file: pos.File, first: first}
		w.extents = append(w.extents, e)
	}
	e.add(pos.Offset, first, last)
	e.live += live
	e.bytes += bytes
}

func (e *extent) add(offset uint32, first, last store.Seq) {
	if n := len(e.points); n == 0 || offset-e.points[n-1].offset >= pointEvery {
		e.points = append(e.points, point{uint32(first - e.first), offset})
	}
	e.last, e.end = last, offset
}

func (w *where) tail() *extent {
	if n := len(w.extents); n > 0 {
		return w.extents[n-1]
	}
	return nil
}

// index is the place of the extent that reaches seq.
func (w *where) index(seq store.Seq) int {
	if len(w.extents) > 0 && w.extents[0].last >= seq {
		return 0
	}
	return sort.Search(len(w.extents), func(i int) bool { return w.extents[i].last >= seq })
}

// find returns a place from which walking on leads to the record that holds seq, and past it to those of higher ones up
// to last.
func (w *where) find(seq store.Seq) (from journal.Position, last store.Seq, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.index(seq)
	if i == len(w.extents) || w.extents[i].first > seq || w.extents[i].live == 0 {
		return journal.Position{}, 0, false
	}
	e := w.extents[i]
	offset := uint32(seq - e.first)
	at := sort.Search(len(e.points), func(i int) bool { return e.points[i].seq > offset }) - 1
	return journal.Position{File: e.file, Offset: e.points[at].offset}, e.last, true
}

// erased tells that a message has left the queue.
func (w *where) erased(seq store.Seq, size uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped {
		return
	}
	if seq > w.placed {
		if w.early == nil {
			w.early = make(map[store.Seq]uint32)
		}
		w.early[seq] = size
		return
	}
	i := w.index(seq)
	e := w.extents[i]
	e.live--
	e.bytes -= int64(size)
	if c := e.merging; c != nil && seq <= c.upTo {
		c.live--
		c.bytes -= int64(size)
	}
	if e.live == 0 && e.merging == nil && i < len(w.extents)-1 {
		w.remove(i)
	}
}

// forgetEarly forgets that messages left before their place was told.
func (w *where) forgetEarly(first store.Seq, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for seq := first; len(w.early) > 0 && seq < first+store.Seq(n); seq++ {
		delete(w.early, seq)
	}
}

// clear tells that all messages up to last have left the queue.
func (w *where) clear(last store.Seq) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped {
		return
	}
	w.cleared, w.early = last, nil
	tail := w.tail()
	for _, e := range w.extents {
		e.live, e.bytes = 0, 0
		if c := e.merging; c != nil {
			c.live, c.bytes = 0, 0
		}
	}
	w.extents = slices.DeleteFunc(w.extents, func(e *extent) bool { return e != tail && e.merging == nil })
}

// prune removes extents without live messages, but for the last one. w.mu is held.
func (w *where) prune() {
	last := w.tail()
	w.extents = slices.DeleteFunc(w.extents, func(e *extent) bool { return e.live == 0 && e != last })
}

func (w *where) remove(i int) {
	w.extents = append(w.extents[:i], w.extents[i+1:]...)
	if len(w.extents) == 0 {
		w.extents = nil
	}
}

// drop forgets everything for good.
func (w *where) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.extents, w.early, w.dropped = nil, nil, true
}

// usage adds up the sizes of live messages by file. An extent without live messages needs its file no more.
func (w *where) usage(sum map[uint32]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.extents {
		if e.live > 0 {
			sum[e.file] += e.bytes + e.live*perMessage
		}
	}
}

// perMessage is about what a record and a table row add to the size of a message on disk.
const perMessage = 80

// liveByFile counts live messages by file: a merge can leave several extents in one.
func (w *where) liveByFile() map[uint32]int64 {
	extents, _ := w.freeze()
	sum := make(map[uint32]int64)
	for _, e := range extents {
		sum[e.file] += e.live
	}
	return sum
}

// freeze copies the extents that hold live messages and says up to which sequence places are known. The points are shared: those that are there do not change.
func (w *where) freeze() ([]extent, store.Seq) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []extent
	for _, e := range w.extents {
		if e.live > 0 {
			c := *e
			c.merging = nil
			list = append(list, c)
		}
	}
	return list, w.placed
}
