package segment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// merge copies the live messages of files of which less than half is live into one new file, when that frees at least
// half a file. The old files are let go of by the checkpoint after the next one that refers to them no more. It says
// whether it did anything. upkeep.mu is held.
func (s *Store) merge() (bool, error) {
	files := s.sparse()
	if len(files) == 0 {
		return false, nil
	}
	w, err := s.journal.NewWriter()
	if err != nil {
		return false, fmt.Errorf("merge: %w", err)
	}
	m := merging{store: s, writer: w, copies: make(map[*where][]*extent)}
	if err := errors.Join(m.copy(files), m.complete()); err != nil {
		m.giveUp()
		return false, errors.Join(fmt.Errorf("merge: %w", err), w.Abort())
	}
	if _, err := w.Finish(); err != nil {
		m.giveUp()
		return false, errors.Join(fmt.Errorf("merge: %w", err), w.Abort())
	}
	m.swap()
	if f := s.o.Events.Merged; f != nil {
		f(len(files), m.messages)
	}
	return true, nil
}

// sparse chooses the files to merge, those with the least live bytes first.
func (s *Store) sparse() []uint32 {
	live := make(map[uint32]int64)
	for _, w := range s.wheres() {
		w.usage(live)
	}
	files := s.journal.Files()
	first := s.journal.Mark().File
	files = slices.DeleteFunc(files, func(f journal.FileInfo) bool {
		return !f.Sealed || !f.Merged && f.Number >= first || live[f.Number] == 0 || 2*live[f.Number] >= s.o.FileSize
	})
	slices.SortFunc(files, func(a, b journal.FileInfo) int { return int(live[a.Number] - live[b.Number]) })
	var chosen []uint32
	var sum, freed int64
	for _, f := range files {
		if sum += live[f.Number]; sum > s.o.FileSize {
			break
		}
		freed += f.Disk - live[f.Number]
		chosen = append(chosen, f.Number)
	}
	if 2*freed < s.o.FileSize {
		return nil
	}
	return chosen
}

// merging is one merge under way.
type merging struct {
	store    *Store
	writer   *journal.Writer
	copies   map[*where][]*extent // the extents that are being copied
	messages int64
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
