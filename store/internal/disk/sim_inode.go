package disk

import "bytes"

const (
	blockSize  = 4096
	sectorSize = 512
)

// block is a part of a file. Once its inode has moved on to another epoch it never changes again, and may be shared.
type block struct {
	epoch uint64
	data  [blockSize]byte
}

// image is the content of a file; a nil block is a hole.
type image struct {
	blocks []*block
	size   int64
}

// inode is a file, whatever its names.
type inode struct {
	sim *Sim
	// name is the last name it was given.
	name           string
	links, handles int

	// epoch is that of the blocks that may be changed in place: those written since the last sync.
	epoch uint64
	// cur is what programs read, dur what is durable.
	cur, dur image
	// dirty are the indexes of the blocks that the next sync is to make durable.
	dirty []int
	// ghosts are the blocks that a failed sync left in the page cache, marked as if they were on the disk.
	ghosts map[int]bool
	// changes are the writes and truncations since the last sync.
	changes []change
	// dying says that no sync of this file makes anything durable any more.
	dying bool
}

// change is a write of whole sectors, or, when data is nil, a truncation to off; size is the file's length after it.
type change struct {
	off, size int64
	data      []byte
}

func (m *image) read(p []byte, off int64) int {
	if off >= m.size {
		return 0
	}
	p = p[:min(int64(len(p)), m.size-off)]
	for done := 0; done < len(p); {
		at := off + int64(done)
		n := min(len(p)-done, blockSize-int(at%blockSize))
		if b := m.block(int(at / blockSize)); b != nil {
			copy(p[done:done+n], b.data[at%blockSize:])
		} else {
			clear(p[done : done+n])
		}
		done += n
	}
	return len(p)
}

func (m *image) block(i int) *block {
	if i >= len(m.blocks) {
		return nil
	}
	return m.blocks[i]
}

func (m *image) set(i int, b *block) {
	if i >= len(m.blocks) {
		if b == nil {
			return
		}
		m.blocks = append(m.blocks, make([]*block, i+1-len(m.blocks))...)
	}
	m.blocks[i] = b
}

func (m *image) clone() image {
	return image{blocks: append([]*block(nil), m.blocks...), size: m.size}
}

// write changes the content and returns how much of p there was room for.
func (n *inode) write(p []byte, off int64) (int, error) {
	done := 0
	var err error
	for done < len(p) {
		at := off + int64(done)
		var b *block
		if b, err = n.own(int(at / blockSize)); err != nil {
			break
		}
		done += copy(b.data[at%blockSize:], p[done:])
	}
	if done > 0 {
		n.cur.size = max(n.cur.size, off+int64(done))
		n.remember(off, done)
	}
	return done, err
}

// own returns a block that may be changed and that the next sync makes durable.
func (n *inode) own(i int) (*block, error) {
	old := n.cur.block(i)
	switch {
	case old == nil:
		if err := n.sim.allocate(); err != nil {
			return nil, err
		}
		old = &block{}
	case old.epoch == n.epoch:
		return old, nil
	}
	b := &block{epoch: n.epoch, data: old.data}
	n.cur.set(i, b)
	n.dirty = append(n.dirty, i)
	return b, nil
}

// remember notes a write as the sectors it touched, as they are now.
func (n *inode) remember(off int64, length int) {
	from := off &^ (sectorSize - 1)
	to := (off + int64(length) + sectorSize - 1) &^ (sectorSize - 1)
	whole := image{blocks: n.cur.blocks, size: to}
	data := make([]byte, to-from)
	whole.read(data, from)
	n.changes = append(n.changes, change{off: from, size: n.cur.size, data: data})
}

func (n *inode) truncate(size int64) {
	keep := int((size + blockSize - 1) / blockSize)
	for i := keep; i < len(n.cur.blocks); i++ {
		if n.cur.blocks[i] != nil {
			n.sim.blocks--
			n.cur.blocks[i] = nil
			n.dirty = append(n.dirty, i)
		}
	}
	if keep < len(n.cur.blocks) {
		n.cur.blocks = n.cur.blocks[:keep]
	}
	if size < n.cur.size && size%blockSize != 0 && n.cur.block(keep-1) != nil {
		if b, err := n.own(keep - 1); err == nil { // it is allocated already
			clear(b.data[size%blockSize:])
		}
	}
	n.cur.size = size
	n.changes = append(n.changes, change{off: size, size: size})
}

// sync makes everything durable that is marked as not.
func (n *inode) sync() {
	if n.dying {
		n.failSync(Dying)
		return
	}
	for _, i := range n.dirty {
		n.dur.set(i, n.cur.block(i))
		delete(n.ghosts, i)
	}
	n.dur.size = n.cur.size
	n.clean()
}

// clean marks everything as durable, whether it is or not.
func (n *inode) clean() {
	n.dirty = n.dirty[:0]
	n.changes = nil
	n.epoch = n.sim.nextEpoch()
}

func (n *inode) failSync(mode SyncMode) {
	switch mode {
	case Lied:
		return
	case Dropped:
		for _, i := range n.dirty {
			n.revert(i)
		}
	case Dying, KeptUntilEvicted:
		n.dying = n.dying || mode == Dying
		for _, i := range n.dirty {
			if n.ghosts == nil {
				n.ghosts = map[int]bool{}
			}
			n.ghosts[i] = true
		}
	}
	n.clean()
}

// evict takes the ghosts out of the page cache.
func (n *inode) evict() {
	for i := range n.ghosts {
		if b := n.cur.block(i); b == nil || b.epoch != n.epoch {
			n.revert(i)
			delete(n.ghosts, i)
		}
	}
}

// revert lets a block read as it is on the disk.
func (n *inode) revert(i int) {
	was, is := n.cur.block(i), n.dur.block(i)
	n.cur.set(i, is)
	switch {
	case was == nil && is != nil:
		n.sim.blocks++
	case was != nil && is == nil:
		n.sim.blocks--
	}
}

// release gives back the room of a file when the last name or handle went away. Its content stays: a crash may bring
// the name back.
func (n *inode) release() {
	if n.links == 0 && n.handles == 0 {
		n.sim.blocks -= n.cur.count()
	}
}

func (m *image) count() (blocks int64) {
	for _, b := range m.blocks {
		if b != nil {
			blocks++
		}
	}
	return blocks
}

// sector returns one sector of a block; nil reads as zeros.
func (b *block) sector(s int) []byte {
	if b == nil {
		return zeroSector[:]
	}
	return b.data[s*sectorSize : (s+1)*sectorSize]
}

var zeroSector [sectorSize]byte

// same says whether two blocks read alike.
func same(a, b *block) bool {
	if a == b {
		return true
	}
	for s := range blockSize / sectorSize {
		if !bytes.Equal(a.sector(s), b.sector(s)) {
			return false
		}
	}
	return true
}
