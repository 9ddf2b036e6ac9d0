package disk

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Fate is what a crash does to what was not synced.
type Fate uint8

const (
	// Lost: nothing of it is left.
	Lost Fate = iota
	// Kept: all of it is left.
	Kept
	// Random: each sector, each length and each operation on a directory is left or not.
	Random
	// Torn: of each write, in order, nothing, a beginning, some sectors or all is left. For directories like Random.
	Torn
)

// Mode is the fate of unsynced content and of unsynced operations on directories.
type Mode struct{ Data, Entries Fate }

// Modes are the ways of crashing that a test should try.
var Modes = []Mode{{Lost, Lost}, {Kept, Kept}, {Lost, Kept}, {Kept, Lost}, {Random, Random}, {Torn, Random}, {Torn, Kept}}

func (m Mode) String() string { return "data " + m.Data.String() + ", entries " + m.Entries.String() }

func (f Fate) String() string { return [...]string{"lost", "kept", "random", "torn"}[f] }

// Crash cuts the power, and returns the disk as it is found afterwards: everything on it is durable, nothing is locked,
// there is no hook, and calls are numbered from 1. All calls to the old disk and its files fail from now on; only Crash
// may be called on it again, to see how else it might have ended.
func (s *Sim) Crash(mode Mode, rng *rand.Rand) *Sim {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen.Store(true)
	after := NewSim()
	after.Capacity = s.Capacity
	after.epoch = s.epoch
	after.dirs = maps.Clone(s.dirs)
	copies := map[*inode]*inode{}
	names := s.survivors(mode.Entries, rng)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old := names[name]
		if copies[old] == nil {
			copies[old] = after.restore(old.survives(mode.Data, rng, after.nextEpoch()))
		}
		copies[old].links++
		copies[old].name = name
		after.names[name] = copies[old]
		after.durable[name] = copies[old]
	}
	return after
}

// survivors returns the names that are left.
func (s *Sim) survivors(fate Fate, rng *rand.Rand) map[string]*inode {
	names := maps.Clone(s.durable)
	for _, op := range s.pending {
		if fate == Kept || (fate != Lost && rng.IntN(2) == 0) {
			op.apply(names)
		}
	}
	return names
}

// restore makes a file with this content.
func (s *Sim) restore(m image) *inode {
	n := &inode{sim: s, epoch: s.nextEpoch(), cur: m, dur: m.clone()}
	s.blocks += m.count()
	return n
}

// survives returns the content that is left of a file. Blocks made for it get an epoch of their own.
func (n *inode) survives(fate Fate, rng *rand.Rand, epoch uint64) image {
	m := n.dur.clone()
	switch fate {
	case Lost:
	case Kept:
		for _, i := range n.dirty {
			m.set(i, n.cur.block(i))
		}
		m.size = n.cur.size
	case Random:
		n.mix(&m, rng)
	case Torn:
		for _, c := range n.changes {
			c.tear(&m, rng, epoch)
		}
	}
	m.trim()
	return m
}

// mix takes each sector, and the length, from before or after.
func (n *inode) mix(m *image, rng *rand.Rand) {
	for _, i := range n.dirty {
		was, is := n.dur.block(i), n.cur.block(i)
		if same(was, is) {
			continue
		}
		b := &block{}
		for s := range blockSize / sectorSize {
			from := was
			if rng.IntN(2) == 0 {
				from = is
			}
			copy(b.data[s*sectorSize:], from.sector(s))
		}
		m.set(i, b)
	}
	low, high := min(n.dur.size, n.cur.size), max(n.dur.size, n.cur.size)
	switch rng.IntN(3) {
	case 0:
		m.size = n.cur.size
	case 1:
		m.size = low + rng.Int64N(high-low+1)
	}
}

// tear performs a part of a change.
func (c change) tear(m *image, rng *rand.Rand, epoch uint64) {
	if c.data == nil {
		if rng.IntN(2) == 0 {
			m.cutTo(c.off)
		}
		return
	}
	sectors := len(c.data) / sectorSize
	kept := func(int) bool { return true }
	switch rng.IntN(4) {
	case 0:
		return
	case 1:
		prefix := rng.IntN(sectors)
		kept = func(s int) bool { return s < prefix }
	case 2:
		kept = func(int) bool { return rng.IntN(2) == 0 }
	}
	for s := range sectors {
		if kept(s) {
			m.put(c.data[s*sectorSize:(s+1)*sectorSize], c.off+int64(s)*sectorSize, epoch)
			m.size = max(m.size, min(c.size, c.off+int64(s+1)*sectorSize))
		}
	}
}

// put writes one sector, leaving blocks of other epochs alone.
func (m *image) put(sector []byte, off int64, epoch uint64) {
	i := int(off / blockSize)
	b := m.block(i)
	if b == nil || b.epoch != epoch {
		own := &block{epoch: epoch}
		if b != nil {
			own.data = b.data
		}
		b = own
		m.set(i, b)
	}
	copy(b.data[off%blockSize:], sector)
}

// cutTo truncates or lengthens.
func (m *image) cutTo(size int64) {
	m.size = size
	m.trim()
}

// trim drops what lies beyond the length, so that a longer file reads as zeros there.
func (m *image) trim() {
	keep := int((m.size + blockSize - 1) / blockSize)
	if keep < len(m.blocks) {
		m.blocks = m.blocks[:keep]
	}
	if keep == 0 || m.size%blockSize == 0 || m.block(keep-1) == nil {
		return
	}
	b := &block{data: m.blocks[keep-1].data}
	clear(b.data[m.size%blockSize:])
	m.blocks[keep-1] = b
}
