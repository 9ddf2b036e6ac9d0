package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// applyLog replays a record about a log; false if it is not about one.
func (l *loader) applyLog(lsn journal.LSN, pos journal.Position, r record.Record) (bool, error) {
	id := store.LogID(r.Object)
	switch r.Type {
	case typeLogConfigured:
		return true, l.logConfigured(lsn, id, r)
	case typeLogDropped:
		if known := l.store.logs[id]; known != nil && lsn > known.last {
			delete(l.store.logs, id)
		}
		return true, nil
	case typeAppended:
		return true, l.appended(lsn, pos, r)
	case typeTrimmed:
		ev, err := model.DecodeTrimmed(r.Payload)
		known := l.store.logs[id]
		if err != nil || known == nil { // dropped by a later record
			return true, err
		}
		l.latest = max(l.latest, ev.At)
		if lsn > known.last {
			known.state.ApplyTrimmed(ev)
			known.last, known.trimmed = lsn, lsn
			known.raise(ev)
		}
		return true, nil
	}
	return false, nil
}

func (l *loader) logConfigured(lsn journal.LSN, id store.LogID, r record.Record) error {
	ev, err := model.DecodeLogConfigured(r.Payload)
	if err != nil {
		return err
	}
	known := l.store.logs[id]
	if known == nil {
		if !ev.Created {
			return nil // dropped by a later record
		}
		known = newLog(id, model.NewLog(id))
		l.store.logs[id] = known
	}
	l.latest = max(l.latest, ev.At)
	if lsn > known.last {
		known.state.ApplyConfigured(ev)
		known.last = lsn
		known.grow()
	}
	return nil
}

func (l *loader) appended(lsn journal.LSN, pos journal.Position, r record.Record) error {
	b, err := decodeLogBatch(r)
	if err != nil {
		return err
	}
	known := l.store.logs[store.LogID(r.Object)]
	if known == nil {
		return nil // dropped by a later record
	}
	l.latest = max(l.latest, b.At)
	if lsn > known.last {
		known.state.ApplyAppended(b.Appended())
		known.last = lsn
	}
	for _, run := range b.Runs {
		if int(run.Partition) >= len(known.parts) {
			return fmt.Errorf("partition %d of log %x, which has %d: %w", run.Partition, r.Object, len(known.parts), store.ErrCorrupt)
		}
		p := known.parts[run.Partition]
		p.where.placeRun(pos, &b, run)
		p.durable = max(p.durable, run.First+store.Offset(run.Count))
	}
	return nil
}

// A log section of a checkpoint:
//
//	5 log      generation u64 | stamp LSN u64 | length u32 | the log as in model | n u32 | n × places
//	  places   placed u64 | n u32 | n × extent, as in a queue
const logSectionHead = 20

// freeze appends a log's section; false if the log was dropped. It adds the files that hold its records to needed.
func (l *log) freeze(b []byte, needed map[uint32]bool) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return nil, false
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(l.id))
	b = binary.LittleEndian.AppendUint64(b, uint64(l.last))
	start := len(b)
	b = l.state.Snapshot(append(b, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.parts)))
	for _, p := range l.parts {
		extents, placed := p.where.freeze()
		b = binary.LittleEndian.AppendUint64(b, uint64(placed))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(extents)))
		for i := range extents {
			needed[extents[i].file] = true
			b = extents[i].encode(b)
		}
	}
	return b, true
}

// decodeLog reads a log section.
func decodeLog(b []byte) (*log, error) {
	broken := fmt.Errorf("log section of %d bytes: %w", len(b), store.ErrCorrupt)
	if len(b) < logSectionHead {
		return nil, broken
	}
	id := store.LogID(binary.LittleEndian.Uint64(b))
	stamp := journal.LSN(binary.LittleEndian.Uint64(b[8:]))
	n := int(binary.LittleEndian.Uint32(b[16:]))
	if b = b[logSectionHead:]; n > len(b)-4 {
		return nil, broken
	}
	state, err := model.RestoreLog(id, b[:n])
	if err != nil {
		return nil, fmt.Errorf("log %x: %w", uint64(id), err)
	}
	l := newLog(id, state)
	l.last, l.trimmed = stamp, stamp
	if int(binary.LittleEndian.Uint32(b[n:])) != len(l.parts) {
		return nil, broken
	}
	b = b[n+4:]
	for i, p := range l.parts {
		if b = p.where.decode(b); b == nil {
			return nil, fmt.Errorf("places of partition %d of log %x: %w", i, uint64(id), store.ErrCorrupt)
		}
	}
	if len(b) > 0 {
		return nil, broken
	}
	return l, nil
}

// decode takes places off the front; nil if they are not possible.
func (w *where) decode(b []byte) []byte {
	if len(b) < 12 {
		return nil
	}
	w.placed = store.Seq(binary.LittleEndian.Uint64(b))
	n := binary.LittleEndian.Uint32(b[8:])
	b = b[12:]
	for range n {
		var e *extent
		e, b = decodeExtent(b)
		if e == nil || e.last > w.placed || len(w.extents) > 0 && e.first <= w.extents[len(w.extents)-1].last {
			return nil
		}
		w.extents = append(w.extents, e)
	}
	return b
}
