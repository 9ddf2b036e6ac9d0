package model

import (
	"encoding/binary"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// chunkLen is how many neighboring sequences share one chunk.
const chunkLen = 256

// columns keeps size and availability tick of every live message, in chunks of neighbors. A full chunk stores the
// difference to its smallest value in as few bytes as its largest needs: none when all are alike.
type columns struct {
	chunks map[uint64]*chunk
	bytes  int64  // sum of the sizes
	last   uint64 // the chunk that was appended to last, the only one that is not full
}

// chunk holds the values of sequences i*chunkLen … i*chunkLen+chunkLen-1, of which the first may be missing at the
// start of a queue.
type chunk struct {
	live   uint16 // messages not removed
	full   bool   // packed: sizes and ticks are in data
	widthS uint8
	widthT uint8
	skip   uint8 // values missing at the start
	baseS  uint32
	baseT  int64
	sizes  []uint32 // while it fills
	ticks  []int64
	data   []byte
}

func (c *columns) append(seq store.Seq, size uint32, tick int64) {
	i := uint64(seq) / chunkLen
	ch := c.chunks[i]
	if ch == nil {
		if c.chunks == nil {
			c.chunks = make(map[uint64]*chunk)
		}
		ch = &chunk{skip: uint8(uint64(seq) % chunkLen)}
		c.chunks[i] = ch
		c.last = i
	}
	ch.sizes = append(ch.sizes, size)
	ch.ticks = append(ch.ticks, tick)
	ch.live++
	c.bytes += int64(size)
	if uint64(seq)%chunkLen == chunkLen-1 {
		ch.pack()
	}
}

// get returns the values of a live message.
func (c *columns) get(seq store.Seq) (size uint32, tick int64) {
	return c.chunks[uint64(seq)/chunkLen].get(uint64(seq) % chunkLen)
}

// remove forgets a live message.
func (c *columns) remove(seq store.Seq) {
	i := uint64(seq) / chunkLen
	ch := c.chunks[i]
	size, _ := ch.get(uint64(seq) % chunkLen)
	c.bytes -= int64(size)
	ch.live--
	if ch.live == 0 && ch.full {
		delete(c.chunks, i)
	}
}

// restore puts back a live message; sequences rise, and those left out are not live.
func (c *columns) restore(seq store.Seq, size uint32, tick int64) {
	i := uint64(seq) / chunkLen
	if ch := c.chunks[i]; ch == nil {
		c.restored(store.Seq(i * chunkLen))
	} else {
		ch.pad(int(uint64(seq)%chunkLen) - int(ch.skip))
	}
	c.append(seq, size, tick)
}

// restored ends a series of restore: what lies between the last one and next is not live.
func (c *columns) restored(next store.Seq) {
	ch := c.chunks[c.last]
	if ch == nil || ch.full {
		return
	}
	if uint64(next)/chunkLen == c.last {
		ch.pad(int(uint64(next)%chunkLen) - int(ch.skip))
		return
	}
	ch.pad(chunkLen - int(ch.skip))
	ch.pack()
}

// clear forgets the last, partly filled chunk of a queue without messages, so that an idle queue holds none: the next
// append starts it again with the sequences before it missing.
func (c *columns) clear() {
	c.chunks = nil
}

func (ch *chunk) get(at uint64) (size uint32, tick int64) {
	i := int(at) - int(ch.skip)
	if !ch.full {
		return ch.sizes[i], ch.ticks[i]
	}
	n := chunkLen - int(ch.skip)
	size = ch.baseS + uint32(unpack(ch.data, i, int(ch.widthS)))
	tick = ch.baseT + int64(unpack(ch.data[n*int(ch.widthS):], i, int(ch.widthT)))
	return size, tick
}

// pad appends values of messages that are not live until there are n: repetitions, which pack well.
func (ch *chunk) pad(n int) {
	for i := len(ch.sizes); i < n; i++ {
		ch.sizes = append(ch.sizes, ch.sizes[i-1])
		ch.ticks = append(ch.ticks, ch.ticks[i-1])
	}
}

func (ch *chunk) pack() {
	ch.baseS, ch.baseT = slices.Min(ch.sizes), slices.Min(ch.ticks)
	ch.widthS = width(uint64(slices.Max(ch.sizes) - ch.baseS))
	ch.widthT = width(uint64(slices.Max(ch.ticks) - ch.baseT))
	n := len(ch.sizes)
	if w := n * int(ch.widthS+ch.widthT); w > 0 {
		ch.data = make([]byte, 0, w)
	}
	for _, s := range ch.sizes {
		ch.data = pack(ch.data, uint64(s-ch.baseS), int(ch.widthS))
	}
	for _, t := range ch.ticks {
		ch.data = pack(ch.data, uint64(t-ch.baseT), int(ch.widthT))
	}
	ch.sizes, ch.ticks, ch.full = nil, nil, true
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
