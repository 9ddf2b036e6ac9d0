package segment

import (
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// copyRecords copies a record of a log, as it is, if any of what it carries is left and lies in this file.
func (m *merging) copyRecords(file uint32, lsn journal.LSN, r record.Record) error {
	b, err := decodeLogBatch(r)
	if err != nil {
		return err
	}
	var copied journal.Position
	for _, run := range b.Runs {
		w := m.store.partitionOf(store.LogID(r.Object), run.Partition)
		if w == nil {
			continue
		}
		e, first := m.beginRun(w, file, &b, run)
		if e == nil {
			continue
		}
		if copied == (journal.Position{}) {
			copied, err = m.writer.Append(record.Record{
				LSN: lsn, Type: r.Type, Version: r.Version, Object: r.Object, Payload: r.Payload,
			})
			if err != nil {
				return err
			}
		}
		last := seqOf(run.First) + store.Seq(run.Count) - 1
		c := e.merging
		if c.to == nil {
			c.to = &extent{file: copied.File, first: first}
		}
		c.to.add(copied.Offset, first, last)
		m.messages += int64(last-first) + 1
	}
	return nil
}

// beginRun says from which sequence on a run is to be copied: it returns its extent, and counts it as copied, or nil.
func (m *merging) beginRun(w *where, file uint32, b *model.LogBatch, run model.LogRun) (*extent, store.Seq) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := seqOf(run.First) + store.Seq(run.Count) - 1
	first := max(seqOf(run.First), w.floor)
	if w.dropped || first > last {
		return nil, 0
	}
	i := w.index(first)
	if i == len(w.extents) || w.extents[i].file != file || w.extents[i].first > first {
		return nil, 0 // a copy of it lies elsewhere
	}
	c := m.copying(w, w.extents[i])
	c.upTo = last
	c.live += int64(last-first) + 1
	c.bytes += b.Bytes(run, store.Offset(first-1))
	return w.extents[i], first
}
