package model

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"sort"

	"github.com/dabba-mq/dabba/store"
)

// chunkLen is how many neighboring sequences share one chunk.
const chunkLen = 256

// facts are what is kept of every message, whatever its state.
type facts struct {
	size     uint32
	group    uint32 // text; 0 for none
	alias    uint32 // hash of where a moved message comes from; 0 for one that was sent here, or is new here
	priority uint8
	part     uint8  // of a message that was sent with a delay: how many ms of its tick have passed when it is due, plus partByWall
	avail    int64  // tick of first availability: of the due time, for one that was sent with a delay
	expires  Millis // end of the time to live; 0 for none
}

// partByWall marks a message that waits for the wall clock: its due time is what that has to show.
const partByWall = 128

// The fields of facts as columns.
const (
	fieldSize = iota
	fieldAvail
	fieldGroup
	fieldPriority
	fieldExpires
	fieldAlias
	fieldPart
	fields
)

func (f *facts) row() [fields]int64 {
	return [fields]int64{int64(f.size), f.avail, int64(f.group), int64(f.priority), int64(f.expires), int64(f.alias), int64(f.part)}
}

// kind says where a message stands that has no slot.
type kind uint8

const (
	none    kind = iota // gone, or it has a slot
	fresh               // ready since it was sent
	planned             // waits for its delay to end
	ripe                // ready since its delay ended
)

// columns keeps facts and kind of every live message, in chunks of neighbors. A full chunk stores, for each field, the
// difference to its smallest value in as few bytes as its largest needs: none when all are alike. Full chunks do not
// change any more, so that a snapshot can share them.
type columns struct {
	chunks []*chunk // by rising index; only the last may be not full; dropped ones leave nil until compaction
	live   []uint16 // of each chunk
	index  []uint64 // of each chunk
	kinds  []kinds  // of each chunk
	gone   int      // how many are nil
	low    uint64   // no chunk with a lower index has fresh messages
	counts [ripe + 1]int64
	bytes  int64 // sum of the sizes
}

// kinds holds two bits for each message of a chunk.
type kinds struct {
	lo, hi [chunkLen / 64]uint64
}

func (k *kinds) get(at uint64) kind {
	return kind(k.lo[at/64]>>(at%64)&1 | k.hi[at/64]>>(at%64)&1<<1)
}

func (k *kinds) set(at uint64, v kind) {
	bit := uint64(1) << (at % 64)
	k.lo[at/64] &^= bit
	k.hi[at/64] &^= bit
	k.lo[at/64] |= uint64(v&1) << (at % 64)
	k.hi[at/64] |= uint64(v>>1) << (at % 64)
}

// chunk holds the values of sequences i*chunkLen … i*chunkLen+chunkLen-1, of which the first skip are missing when the
// queue was empty at that point.
type chunk struct {
	full  bool // packed: the values are in data, one column after the other
	skip  uint8
	width [fields]uint8
	base  [fields]int64
	data  []byte
	open  []facts // while it fills
}

// append adds seq, which is above all others.
func (c *columns) append(seq store.Seq, f facts, k kind) {
	i, last := uint64(seq)/chunkLen, len(c.chunks)-1
	if last < 0 || c.index[last] != i {
		c.chunks = append(c.chunks, &chunk{skip: uint8(uint64(seq) % chunkLen)})
		c.live = append(c.live, 0)
		c.index = append(c.index, i)
		c.kinds = append(c.kinds, kinds{})
		last++
	}
	ch := c.chunks[last]
	ch.open = append(ch.open, f)
	c.live[last]++
	c.bytes += int64(f.size)
	c.kinds[last].set(uint64(seq)%chunkLen, k)
	c.counts[k]++
	if uint64(seq)%chunkLen == chunkLen-1 {
		c.chunks[last] = ch.packed() // a new one: a snapshot may hold the old
	}
}

// find returns the place of the chunk that holds seq, or of the first one after it.
func (c *columns) find(seq store.Seq) int {
	i := uint64(seq) / chunkLen
	// Nearly always all chunks from the first to the last are there.
	if at := i - c.index[0]; at < uint64(len(c.index)) && c.index[at] == i {
		return int(at)
	}
	return sort.Search(len(c.index), func(at int) bool { return c.index[at] >= i })
}

// has says whether there are values for seq. They stay for a while after it was removed.
func (c *columns) has(seq store.Seq) bool {
	if len(c.index) == 0 {
		return false
	}
	at := c.find(seq)
	if at == len(c.index) || c.index[at] != uint64(seq)/chunkLen || c.chunks[at] == nil {
		return false
	}
	ch, i := c.chunks[at], int(uint64(seq)%chunkLen)-int(c.chunks[at].skip)
	return i >= 0 && (ch.full || i < len(ch.open))
}

func (c *columns) field(seq store.Seq, field int) int64 {
	return c.chunks[c.find(seq)].field(uint64(seq)%chunkLen, field)
}

// The facts of a live message, one by one.
func (c *columns) size(seq store.Seq) uint32    { return uint32(c.field(seq, fieldSize)) }
func (c *columns) avail(seq store.Seq) int64    { return c.field(seq, fieldAvail) }
func (c *columns) group(seq store.Seq) uint32   { return uint32(c.field(seq, fieldGroup)) }
func (c *columns) priority(seq store.Seq) uint8 { return uint8(c.field(seq, fieldPriority)) }
func (c *columns) expires(seq store.Seq) Millis { return Millis(c.field(seq, fieldExpires)) }
func (c *columns) alias(seq store.Seq) uint32   { return uint32(c.field(seq, fieldAlias)) }
func (c *columns) count(k kind) int64           { return c.counts[k] }

// due is when a planned message becomes ready; byWall says that this is what the wall clock has to show.
func (c *columns) due(seq store.Seq) Millis {
	return Millis(c.avail(seq)*tickMillis + c.field(seq, fieldPart)&^partByWall)
}

func (c *columns) byWall(seq store.Seq) bool { return c.field(seq, fieldPart)&partByWall != 0 }

// kind says where a message stands that has no slot.
func (c *columns) kind(seq store.Seq) kind {
	if !c.has(seq) {
		return none
	}
	return c.kinds[c.find(seq)].get(uint64(seq) % chunkLen)
}

// move changes the kind of a live message.
func (c *columns) move(seq store.Seq, to kind) {
	k, i := &c.kinds[c.find(seq)], uint64(seq)%chunkLen
	c.counts[k.get(i)]--
	c.counts[to]++
	k.set(i, to)
}

// firstFresh is the lowest fresh sequence; 0 when there is none.
func (c *columns) firstFresh() store.Seq {
	if c.counts[fresh] == 0 {
		return 0
	}
	for at := c.find(store.Seq(c.low * chunkLen)); at < len(c.kinds); at++ {
		if i, ok := c.kinds[at].first(); ok {
			c.low = c.index[at]
			return store.Seq(c.index[at]*chunkLen + i)
		}
	}
	panic("model: fresh messages are counted but not there")
}

// first is the place of the first fresh message.
func (k *kinds) first() (uint64, bool) {
	for w := range k.lo {
		if v := k.lo[w] &^ k.hi[w]; v != 0 {
			return uint64(w*64 + bits.TrailingZeros64(v)), true
		}
	}
	return 0, false
}

// len counts the messages of a chunk that have a kind.
func (k *kinds) len() (n int) {
	for w := range k.lo {
		n += bits.OnesCount64(k.lo[w] | k.hi[w])
	}
	return n
}

// remove forgets a live message.
func (c *columns) remove(seq store.Seq) {
	at, i := c.find(seq), uint64(seq)%chunkLen
	c.bytes -= c.chunks[at].field(i, fieldSize)
	c.counts[c.kinds[at].get(i)]--
	c.kinds[at].set(i, none)
	c.live[at]--
	if c.live[at] == 0 && c.chunks[at].full {
		c.chunks[at] = nil
		c.gone++
		c.compact()
	}
}

// compact drops the places of chunks that are gone once they are half of all.
func (c *columns) compact() {
	if c.gone < 32 || c.gone*2 < len(c.chunks) {
		return
	}
	kept := columns{bytes: c.bytes, low: c.low, counts: c.counts}
	for at, ch := range c.chunks {
		if ch != nil {
			kept.chunks = append(kept.chunks, ch)
			kept.live = append(kept.live, c.live[at])
			kept.index = append(kept.index, c.index[at])
			kept.kinds = append(kept.kinds, c.kinds[at])
		}
	}
	*c = kept
}

// clear forgets everything about a queue without messages, so that an idle queue holds no memory: the next append
// starts a chunk with the sequences before it missing.
func (c *columns) clear() { *c = columns{} }

func (ch *chunk) field(at uint64, field int) int64 {
	i := int(at) - int(ch.skip)
	if !ch.full {
		row := ch.open[i].row()
		return row[field]
	}
	return ch.base[field] + int64(unpack(ch.column(field), i, int(ch.width[field])))
}

// column is the packed values of a field and those of the fields after it.
func (ch *chunk) column(field int) []byte {
	start := 0
	for _, w := range ch.width[:field] {
		start += int(w)
	}
	return ch.data[start*ch.len():]
}

// len is the number of values in a full chunk.
func (ch *chunk) len() int { return chunkLen - int(ch.skip) }

func (ch *chunk) packed() *chunk {
	p := &chunk{full: true, skip: ch.skip}
	var low, high [fields]int64
	for i := range ch.open {
		row := ch.open[i].row()
		if i == 0 {
			low, high = row, row
		}
		for f, v := range row {
			low[f], high[f] = min(low[f], v), max(high[f], v)
		}
	}
	for f := range fields {
		p.base[f], p.width[f] = low[f], width(uint64(high[f]-low[f]))
	}
	if n := p.dataLen(); n > 0 {
		p.data = make([]byte, 0, n)
	}
	for f := range fields {
		for i := range ch.open {
			row := ch.open[i].row()
			p.data = pack(p.data, uint64(row[f]-low[f]), int(p.width[f]))
		}
	}
	return p
}

func (ch *chunk) dataLen() int {
	n := 0
	for _, w := range ch.width {
		n += int(w)
	}
	return n * ch.len()
}

// seqs yields the sequences of which there are values, from the given one on, with their kinds, in rising order; those of
// removed messages and of messages with a slot have kind none.
func (c *columns) seqs(from store.Seq) iter.Seq2[store.Seq, kind] {
	return func(yield func(store.Seq, kind) bool) {
		if len(c.index) == 0 {
			return
		}
		for at := c.find(from); at < len(c.chunks); at++ {
			ch := c.chunks[at]
			if ch == nil {
				continue
			}
			first := store.Seq(c.index[at]*chunkLen + uint64(ch.skip))
			n := len(ch.open)
			if ch.full {
				n = ch.len()
			}
			for seq := max(first, from); seq < first+store.Seq(n); seq++ {
				if !yield(seq, c.kinds[at].get(uint64(seq)%chunkLen)) {
					return
				}
			}
		}
	}
}

// last is a sequence from which on there are at least n messages, if there are so many, and how many there are.
func (c *columns) last(n int64) (from store.Seq, count int64) {
	for at := len(c.index) - 1; at >= 0 && count < n; at-- {
		from = store.Seq(c.index[at] * chunkLen)
		count += int64(c.live[at])
	}
	return from, count
}

// slotted yields the sequences of messages that may have a slot, from the given one on, in rising order. Chunks without
// any are passed over.
func (c *columns) slotted(from store.Seq) iter.Seq[store.Seq] {
	return func(yield func(store.Seq) bool) {
		if len(c.index) == 0 {
			return
		}
		for at := c.find(from); at < len(c.chunks); at++ {
			k := &c.kinds[at]
			if c.chunks[at] == nil || int(c.live[at]) == k.len() {
				continue
			}
			first := store.Seq(c.index[at] * chunkLen)
			for i := range store.Seq(chunkLen) {
				if first+i >= from && k.get(uint64(i)) == none && !yield(first+i) {
					return
				}
			}
		}
	}
}

// freeze copies what may change and shares what does not.
func (c *columns) freeze() columns {
	f := columns{
		chunks: slices.Clone(c.chunks), live: slices.Clone(c.live), index: slices.Clone(c.index),
		kinds: slices.Clone(c.kinds),
	}
	if n := len(f.chunks); n > 0 && f.chunks[n-1] != nil && !f.chunks[n-1].full {
		last := *f.chunks[n-1] // appending to it does not touch the values it has
		f.chunks[n-1] = &last
	}
	return f
}

// width is the number of bytes that hold v: 0, 1, 2, 4 or 8.
func width(v uint64) uint8 {
	switch {
	case v == 0:
		return 0
	case v < 1<<8:
		return 1
	case v < 1<<16:
		return 2
	case v < 1<<32:
		return 4
	}
	return 8
}

func pack(b []byte, v uint64, width int) []byte {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	return append(b, w[:width]...)
}

func unpack(b []byte, i, width int) uint64 {
	var w [8]byte
	copy(w[:], b[i*width:(i+1)*width])
	return binary.LittleEndian.Uint64(w[:])
}
