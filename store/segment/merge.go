package segment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// merge copies the live messages of some files into one new file, when that frees enough: see [Store.choose]. The old
// files are let go of by the checkpoint after the next one that refers to them no more. It says whether it did anything.
// upkeep.mu is held.
func (s *Store) merge() (bool, error) {
	c, gain := s.choose(s.sealedFiles())
	if len(c.files) == 0 {
		return false, nil
	}
	if err := s.makeRoomFor(c.live); err != nil {
		return false, fmt.Errorf("merge: %w", err)
	}
	w, err := s.journal.NewWriter()
	if err != nil {
		return false, fmt.Errorf("merge: %w", err)
	}
	m := merging{store: s, writer: w, copies: make(map[*where][]*extent)}
	if err := errors.Join(m.copy(c.numbers()), m.complete()); err != nil {
		m.giveUp()
		return false, errors.Join(fmt.Errorf("merge: %w", err), w.Abort())
	}
	if c.disk-w.Size() < gain {
		// The live messages take up more than it seemed. These files are chosen again when less of them is live.
		m.giveUp()
		for _, f := range c.files {
			s.upkeep.packed[f.number] = int64(float64(f.disk) * float64(c.live) / float64(w.Size()))
		}
		return false, w.Abort()
	}
	merged, err := w.Finish()
	if err != nil {
		m.giveUp()
		return false, errors.Join(fmt.Errorf("merge: %w", err), w.Abort())
	}
	m.swap()
	s.upkeep.packed[merged.Number] = m.live
	if f := s.o.Events.Merged; f != nil {
		f(len(c.files), m.messages)
	}
	return true, nil
}

// sealedFile is a file that a merge can take.
type sealedFile struct {
	number uint32
	// disk is what it takes up, live about how much of that is live, and dead what a merge has to gain.
	disk, live, dead int64
	merged           bool
}

// sealedFiles lists the files that the next checkpoint need not replay. upkeep.mu is held.
func (s *Store) sealedFiles() []sealedFile {
	first := s.journal.Mark().File
	infos := s.journal.Files() // before the sizes are added up: what is in them is placed by now
	live := make(map[uint32]int64)
	for _, w := range s.wheres() {
		w.usage(live)
	}
	var files []sealedFile
	for _, f := range infos {
		if !f.Sealed || !f.Merged && f.Number >= first {
			continue
		}
		c := sealedFile{number: f.Number, disk: f.Disk, live: live[f.Number], merged: f.Merged}
		c.dead = max(0, c.disk-c.live)
		if packed, tight := s.upkeep.packed[f.Number]; tight && packed > 0 {
			// So much would take up the whole file, whatever the sizes add up to.
			c.dead = int64(float64(c.disk) * (1 - min(1, float64(c.live)/float64(packed))))
		}
		files = append(files, c)
	}
	return files
}

// choice is what a merge takes.
type choice struct {
	files      []sealedFile
	disk, live int64
}

func (c *choice) add(f sealedFile) {
	c.files = append(c.files, f)
	c.disk += f.disk
	c.live += f.live
}

func (c *choice) numbers() []uint32 {
	var list []uint32
	for _, f := range c.files {
		list = append(list, f.number)
	}
	return list
}

// policy says what is worth copying: files of which at least one part in share is dead, if that frees a part in share of a
// data file altogether. room is how much can be copied into one file, most what can be copied at all.
type policy struct{ share, room, most int64 }

// How large a part of a file has to be dead. The less room there is, the more is copied for each byte that is freed:
// at most one, three or fifteen.
const (
	shareOfRoom   = 2
	shareNearFull = 4
	shareFull     = 16
)

// leastGain is what a merge frees at least: anything less would be copying without end.
func (s *Store) leastGain(share int64) int64 { return max(s.o.FileSize/share, 2*record.BlockSize) }

// crumbs is how many small files that are all live are put together when others are merged.
const crumbs = 8

// choose picks the files to merge, and says what that frees at least: those that free most for each byte that is copied.
// upkeep.mu is held.
func (s *Store) choose(files []sealedFile) (c choice, gain int64) {
	p := s.policy()
	gain = s.leastGain(p.share)
	small := slices.DeleteFunc(slices.Clone(files), func(f sealedFile) bool { return f.live == 0 || 2*f.live >= s.o.FileSize })
	files = slices.DeleteFunc(files, func(f sealedFile) bool {
		return f.live == 0 || p.share*f.dead < min(f.disk, s.o.FileSize)
	})
	slices.SortFunc(files, func(a, b sealedFile) int {
		return cmp.Compare(float64(a.live)/float64(a.dead), float64(b.live)/float64(b.dead))
	})
	if p.share == shareOfRoom && len(small) >= crumbs {
		slices.SortFunc(small, func(a, b sealedFile) int { return cmp.Compare(a.live, b.live) })
		files = append(files, small...)
	}
	dead := int64(0)
	for _, f := range files {
		fits := c.live+f.live <= min(p.room, p.most) || len(c.files) == 0 && f.live <= p.most
		if fits && !slices.Contains(c.files, f) {
			c.add(f)
			dead += f.dead
		}
	}
	if dead < gain {
		return choice{}, gain
	}
	return c, gain
}

// merging is one merge under way.
type merging struct {
	store    *Store
	writer   *journal.Writer
	copies   map[*where][]*extent // the extents that are being copied
	messages int64
	live     int64 // what the copies count as live
}

func (m *merging) copy(files []uint32) error {
	slices.Sort(files)
	for _, file := range files {
		if err := m.copyFile(file); err != nil {
			return err
		}
	}
	return nil
}

func (m *merging) copyFile(file uint32) error {
	return m.store.journal.Walk(firstRecord(file), func(lsn journal.LSN, _ journal.Position, r record.Record) (bool, error) {
		if r.Type == typeAppended {
			return true, m.copyRecords(file, lsn, r)
		}
		first, n, err := holds(r)
		if err != nil || n == 0 {
			return err == nil, err
		}
		m.store.mu.RLock()
		q := m.store.queues[store.QueueID(r.Object)]
		m.store.mu.RUnlock()
		if q == nil {
			return true, nil
		}
		for seq := first; seq < first+store.Seq(n); seq++ {
			if err := m.copyMessage(q, file, lsn, r, seq); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// firstRecord is where the records of a data file begin.
func firstRecord(file uint32) journal.Position {
	return journal.Position{File: file, Offset: record.BlockSize + record.BatchHeaderSize}
}

// copyMessage copies one message if it is live and lies in this file.
func (m *merging) copyMessage(q *queue, file uint32, lsn journal.LSN, r record.Record, seq store.Seq) error {
	e := m.begin(q, file, seq)
	if e == nil {
		return nil
	}
	stored, err := message(r, seq)
	if err != nil {
		return err
	}
	pos, err := m.writer.Append(record.Record{
		LSN: lsn, Type: typeKept, Version: payloadVersion, Object: r.Object,
		Payload: model.Kept{Seq: seq, Stored: stored}.Encode(nil),
	})
	if err != nil {
		return err
	}
	c := e.merging
	if c.to == nil {
		c.to = &extent{file: pos.File, first: seq}
	}
	c.to.add(pos.Offset, seq, seq)
	m.messages++
	return nil
}

// begin says whether seq is to be copied: it returns its extent, and counts it as copied, or nil.
func (m *merging) begin(q *queue, file uint32, seq store.Seq) *extent {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == nil || !q.state.Live(seq) {
		return nil
	}
	w := &q.where
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.index(seq)
	if i == len(w.extents) || w.extents[i].file != file || w.extents[i].first > seq {
		return nil // a copy of it lies elsewhere
	}
	e := w.extents[i]
	c := m.copying(w, e)
	c.upTo = seq
	c.live++
	c.bytes += int64(q.state.Size(seq))
	return e
}

// copying is that of an extent. w.mu is held.
func (m *merging) copying(w *where, e *extent) *copying {
	if e.merging == nil {
		e.merging = &copying{}
		m.copies[w] = append(m.copies[w], e)
	}
	return e.merging
}

// complete checks that all live messages were copied: in a damaged file some cannot be found. It stays as it is then, so
// that reading them says so.
func (m *merging) complete() error {
	for w, extents := range m.copies {
		w.mu.Lock()
		short := slices.IndexFunc(extents, func(e *extent) bool { return e.merging.live != e.live })
		w.mu.Unlock()
		if short >= 0 {
			return fmt.Errorf("data file %d: messages of %s cannot be found: %w", extents[short].file, w.owner, store.ErrCorrupt)
		}
	}
	return nil
}

// swap puts the copies in the places of the originals.
func (m *merging) swap() {
	for w, extents := range m.copies {
		w.mu.Lock()
		for _, e := range extents {
			if c := e.merging; !w.dropped {
				c.to.live, c.to.bytes = c.live, c.bytes
				m.live += c.bytes + c.live*perMessage
				*e = *c.to
			}
		}
		w.prune()
		w.mu.Unlock()
	}
}

// giveUp leaves everything as it was.
func (m *merging) giveUp() {
	for w, extents := range m.copies {
		w.mu.Lock()
		for _, e := range extents {
			e.merging = nil
		}
		w.prune()
		w.mu.Unlock()
	}
}
