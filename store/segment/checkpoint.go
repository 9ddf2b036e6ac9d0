package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// A checkpoint file is a magic and version, then sections, each with its own checksum; all numbers are little-endian.
//
//	file      "DABBACKP" | version u32, now 3 | sections
//	section   kind u8 | length u32 | CRC32C u32 of kind, length and content | content
//	1 start   replay file u32 | offset u32 | after LSN u64 | queue time i64 | n u32 | n × data file u32 | what the clocks showed
//	2 pairs   stamp LSN u64 | the key-value part as in model
//	3 queue   generation u64 | stamp LSN u64 | placed u64 | n u32 | n × extent | the queue as in model
//	  extent  data file u32 | first u64 | last u64 | live u64 | bytes u64 | end u32 | n u32 | n × { seq u32 | offset u32 }
//	4 end     number of queues u32 | number of logs u32
//	5 log     see logreplay.go
const (
	checkpointMagic   = "DABBACKP"
	checkpointVersion = 3
	// Version 2 had no reading of the clocks in start, and queues and logs as in version 2 of package model.
	oldestCheckpointVersion = 2

	sectionHead = 9
)

// Kinds of sections.
const (
	sectionStart uint8 = iota + 1
	sectionPairs
	sectionQueue
	sectionEnd
	sectionLog
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const checkpointPrefix = "checkpoint-"

func checkpointName(n uint64) string { return fmt.Sprintf("%s%08d", checkpointPrefix, n) }

// start is what a checkpoint says about the journal and the clock.
type start struct {
	journal.Start
	at model.Millis
	// clock is the reading at that time; nil if the checkpoint has none.
	clock *model.Reading
}

func (st start) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, st.File)
	b = binary.LittleEndian.AppendUint32(b, st.Offset)
	b = binary.LittleEndian.AppendUint64(b, uint64(st.After))
	b = binary.LittleEndian.AppendUint64(b, uint64(st.at))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(st.Sealed)))
	for _, file := range st.Sealed {
		b = binary.LittleEndian.AppendUint32(b, file)
	}
	if st.clock != nil {
		b = st.clock.Encode(b)
	}
	return b
}

func decodeStart(b []byte) (start, error) {
	n := 0
	if len(b) >= 28 {
		n = int(binary.LittleEndian.Uint32(b[24:]))
	}
	if len(b) < 28 || n > (len(b)-28)/4 {
		return start{}, fmt.Errorf("start section of %d bytes: %w", len(b), store.ErrCorrupt)
	}
	st := start{at: model.Millis(binary.LittleEndian.Uint64(b[16:]))}
	st.File = binary.LittleEndian.Uint32(b)
	st.Offset = binary.LittleEndian.Uint32(b[4:])
	st.After = journal.LSN(binary.LittleEndian.Uint64(b[8:]))
	for b = b[28:]; len(st.Sealed) < n; b = b[4:] {
		st.Sealed = append(st.Sealed, binary.LittleEndian.Uint32(b))
	}
	if len(b) > 0 {
		clock, err := model.DecodeReading(b)
		if err != nil {
			return start{}, fmt.Errorf("start section: %w", err)
		}
		st.clock = &clock
	}
	return st, nil
}

// frozen is a queue at one instant.
type frozen struct {
	id      store.QueueID
	stamp   journal.LSN
	placed  store.Seq
	extents []extent
	state   *model.Frozen
}

// freeze takes a queue's state; false if it was dropped.
func (q *queue) freeze() (frozen, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == nil {
		return frozen{}, false
	}
	f := frozen{id: q.id, stamp: q.last, state: q.state.Freeze()}
	f.extents, f.placed = q.where.freeze()
	return f, true
}

func (f frozen) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(f.id))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.stamp))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.placed))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.extents)))
	for i := range f.extents {
		b = f.extents[i].encode(b)
	}
	return f.state.Encode(b)
}

const extentHead = 44

func (e *extent) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, e.file)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.first))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.last))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.live))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.bytes))
	b = binary.LittleEndian.AppendUint32(b, e.end)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.points)))
	for _, p := range e.points {
		b = binary.LittleEndian.AppendUint32(b, p.seq)
		b = binary.LittleEndian.AppendUint32(b, p.offset)
	}
	return b
}

// decodeExtent takes an extent off the front; nil if it is not possible.
func decodeExtent(b []byte) (*extent, []byte) {
	if len(b) < extentHead {
		return nil, nil
	}
	e := &extent{
		file:  binary.LittleEndian.Uint32(b),
		first: store.Seq(binary.LittleEndian.Uint64(b[4:])),
		last:  store.Seq(binary.LittleEndian.Uint64(b[12:])),
		live:  int64(binary.LittleEndian.Uint64(b[20:])),
		bytes: int64(binary.LittleEndian.Uint64(b[28:])),
		end:   binary.LittleEndian.Uint32(b[36:]),
	}
	n := int(binary.LittleEndian.Uint32(b[40:]))
	b = b[extentHead:]
	if n == 0 || len(b) < 8*n || e.last < e.first {
		return nil, nil
	}
	e.points = make([]point, n)
	for i := range e.points {
		e.points[i] = point{binary.LittleEndian.Uint32(b[8*i:]), binary.LittleEndian.Uint32(b[8*i+4:])}
		if i == 0 && e.points[0].seq != 0 || i > 0 && e.points[i].seq <= e.points[i-1].seq {
			return nil, nil
		}
	}
	return e, b[8*n:]
}

// decodeQueue reads a queue section.
func decodeQueue(b []byte) (*queue, error) {
	if len(b) < 28 {
		return nil, fmt.Errorf("queue section of %d bytes: %w", len(b), store.ErrCorrupt)
	}
	id := store.QueueID(binary.LittleEndian.Uint64(b))
	stamp := journal.LSN(binary.LittleEndian.Uint64(b[8:]))
	placed := store.Seq(binary.LittleEndian.Uint64(b[16:]))
	n := binary.LittleEndian.Uint32(b[24:])
	b = b[28:]
	var extents []*extent
	for range n {
		var e *extent
		if e, b = decodeExtent(b); e == nil || e.last > placed || len(extents) > 0 && e.first <= extents[len(extents)-1].last {
			return nil, fmt.Errorf("places of queue %d: %w", id, store.ErrCorrupt)
		}
		extents = append(extents, e)
	}
	state, err := model.Restore(id, b)
	if err != nil {
		return nil, err
	}
	q := newQueue(id, state)
	q.last, q.settled = stamp, stamp
	q.where.extents, q.where.placed = extents, placed
	return q, nil
}

// checkpoint writes and publishes the state of everything, and lets go of data files that are needed no more.
func (s *Store) checkpoint() error {
	s.upkeep.mu.Lock()
	defer s.upkeep.mu.Unlock()
	return s.checkpointLocked()
}

// checkpointLocked is checkpoint with upkeep.mu held. It finds room for itself while there is none.
func (s *Store) checkpointLocked() error { return s.squeeze(s.writeCheckpoint) }

func (s *Store) writeCheckpoint() error {
	began := s.o.Now()
	clock := s.reading()
	st := start{Start: s.journal.Mark(), at: clock.At, clock: &clock}
	sealed := s.sealedBefore(st.File)
	s.upkeep.tried++ // never twice: CURRENT may name one that failed to be published
	number := s.upkeep.tried
	w, err := s.newSections(checkpointName(number))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	needed, err := s.writeState(w, st, sealed)
	if err = errors.Join(err, w.finish()); err != nil {
		return errors.Join(fmt.Errorf("checkpoint: %w", err), s.fs().Remove(path.Join(s.o.Dir, w.name)))
	}
	// Everything the checkpoint is made of must be durable before it counts.
	if err := s.journal.Sync(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := s.publish(number); err != nil {
		return errors.Join(fmt.Errorf("publish checkpoint %d: %w", number, err), s.discardCheckpoint(number))
	}
	s.journal.SetStart(st.Start)
	s.upkeep.checkpointed = w.at
	if f := s.o.Events.Checkpoint; f != nil {
		f(s.o.Now().Sub(began), int(w.at))
	}
	return s.release(sealed, needed)
}

// discardCheckpoint removes a checkpoint that could not be published, unless CURRENT names it all the same.
func (s *Store) discardCheckpoint(number uint64) error {
	named, err := current(s.fs(), s.o.Dir)
	if err != nil || named == number {
		return err
	}
	return s.fs().Remove(path.Join(s.o.Dir, checkpointName(number)))
}

// sealedBefore lists the data files that replay from the given file does not read.
func (s *Store) sealedBefore(first uint32) []uint32 {
	var list []uint32
	for _, f := range s.journal.Files() {
		if f.Sealed && (f.Merged || f.Number < first) {
			list = append(list, f.Number)
		}
	}
	slices.Sort(list)
	return list
}

// writeState writes all sections and returns the data files that the state refers to. The start section, which names
// them, comes last but one, since they are known only then.
func (s *Store) writeState(w *sections, st start, sealed []uint32) (needed map[uint32]bool, err error) {
	s.kv.mu.Lock()
	pairs := binary.LittleEndian.AppendUint64(nil, uint64(s.kv.last))
	pairs = s.kv.state.Snapshot(pairs)
	s.kv.mu.Unlock()
	if err := w.add(sectionPairs, pairs); err != nil {
		return nil, err
	}
	needed = make(map[uint32]bool)
	count := uint32(0)
	var b []byte
	for _, q := range s.all() {
		f, ok := q.freeze()
		if !ok {
			continue
		}
		for _, e := range f.extents {
			needed[e.file] = true
		}
		b = f.encode(b[:0])
		if err := w.add(sectionQueue, b); err != nil {
			return nil, err
		}
		count++
	}
	logs := uint32(0)
	for _, l := range s.allLogs() {
		section, ok := l.freeze(b[:0], needed)
		if !ok {
			continue
		}
		b = section
		if err := w.add(sectionLog, b); err != nil {
			return nil, err
		}
		logs++
	}
	for _, file := range sealed {
		if needed[file] {
			st.Sealed = append(st.Sealed, file)
		}
	}
	if err := w.add(sectionStart, st.encode(nil)); err != nil {
		return nil, err
	}
	return needed, w.add(sectionEnd, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, count), logs))
}
