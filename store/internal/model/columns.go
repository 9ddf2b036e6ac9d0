package model

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/dabba-mq/dabba/store"
)

// chunkLen is how many neighboring sequences share one chunk.
const chunkLen = 256

// columns keeps size and availability tick of every live message, in chunks of neighbors. A full chunk stores the
// difference to its smallest value in as few bytes as its largest needs: none when all are alike. Full chunks do not
// change any more, so that a snapshot can share them.
type columns struct {
	chunks []*chunk // by rising index; only the last may be not full; dropped ones leave nil until compaction
	live   []uint16 // of each chunk
	index  []uint64 // of each chunk
	gone   int      // how many are nil
	bytes  int64    // sum of the sizes
}

// chunk holds the values of sequences i*chunkLen … i*chunkLen+chunkLen-1, of which the first skip are missing when the
// queue was empty at that point.
type chunk struct {
	full           bool // packed: the values are in data
	widthS, widthT uint8
	skip           uint8
	baseS          uint32
	baseT          int64
	sizes          []uint32 // while it fills
	ticks          []int64
	data           []byte
}

// append adds seq, which is above all others.
func (c *columns) append(seq store.Seq, size uint32, tick int64) {
	i, last := uint64(seq)/chunkLen, len(c.chunks)-1
	if last < 0 || c.index[last] != i {
		c.chunks = append(c.chunks, &chunk{skip: uint8(uint64(seq) % chunkLen)})
		c.live = append(c.live, 0)
		c.index = append(c.index, i)
		last++
	}
	ch := c.chunks[last]
	ch.sizes = append(ch.sizes, size)
	ch.ticks = append(ch.ticks, tick)
	c.live[last]++
	c.bytes += int64(size)
	if uint64(seq)%chunkLen == chunkLen-1 {
		c.chunks[last] = ch.packed() // a new one: a snapshot may hold the old
	}
}

// find returns the place of the chunk that holds seq.
func (c *columns) find(seq store.Seq) int {
	i := uint64(seq) / chunkLen
	// Nearly always all chunks from the first to the last are there.
	if at := i - c.index[0]; at < uint64(len(c.index)) && c.index[at] == i {
		return int(at)
	}
	return sort.Search(len(c.index), func(at int) bool { return c.index[at] >= i })
}

// get returns the values of a live message.
func (c *columns) get(seq store.Seq) (size uint32, tick int64) {
	return c.chunks[c.find(seq)].get(uint64(seq) % chunkLen)
}

// remove forgets a live message.
func (c *columns) remove(seq store.Seq) {
	at := c.find(seq)
	size, _ := c.chunks[at].get(uint64(seq) % chunkLen)
	c.bytes -= int64(size)
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
	kept := columns{bytes: c.bytes}
	for at, ch := range c.chunks {
		if ch != nil {
			kept.chunks = append(kept.chunks, ch)
			kept.live = append(kept.live, c.live[at])
			kept.index = append(kept.index, c.index[at])
		}
	}
	*c = kept
}

// clear forgets everything about a queue without messages, so that an idle queue holds no memory: the next append
// starts a chunk with the sequences before it missing.
func (c *columns) clear() { *c = columns{} }

func (ch *chunk) get(at uint64) (size uint32, tick int64) {
	i := int(at) - int(ch.skip)
	if !ch.full {
		return ch.sizes[i], ch.ticks[i]
	}
	size = ch.baseS + uint32(unpack(ch.data, i, int(ch.widthS)))
	tick = ch.baseT + int64(unpack(ch.data[ch.len()*int(ch.widthS):], i, int(ch.widthT)))
	return size, tick
}

// len is the number of values in a full chunk.
func (ch *chunk) len() int { return chunkLen - int(ch.skip) }

func (ch *chunk) packed() *chunk {
	p := &chunk{full: true, skip: ch.skip, baseS: slices.Min(ch.sizes), baseT: slices.Min(ch.ticks)}
	p.widthS = width(uint64(slices.Max(ch.sizes) - p.baseS))
	p.widthT = width(uint64(slices.Max(ch.ticks) - p.baseT))
	if w := p.dataLen(); w > 0 {
		p.data = make([]byte, 0, w)
	}
	for _, s := range ch.sizes {
		p.data = pack(p.data, uint64(s-p.baseS), int(p.widthS))
	}
	for _, t := range ch.ticks {
		p.data = pack(p.data, uint64(t-p.baseT), int(p.widthT))
	}
	return p
}

func (ch *chunk) dataLen() int { return ch.len() * int(ch.widthS+ch.widthT) }

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
