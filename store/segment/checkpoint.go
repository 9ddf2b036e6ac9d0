package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// A checkpoint file is a magic and version, then sections, each with its own checksum; all numbers are little-endian.
//
//	file      "DABBACKP" | version u32, now 1 | sections
//	section   kind u8 | length u32 | CRC32C u32 of kind, length and content | content
//	1 start   replay file u32 | offset u32 | after LSN u64 | queue time i64 | n u32 | n × data file u32
//	2 pairs   stamp LSN u64 | the key-value part as in model
//	3 queue   generation u64 | stamp LSN u64 | placed u64 | n u32 | n × extent | the queue as in model
//	  extent  data file u32 | first u64 | last u64 | live u64 | bytes u64 | end u32 | n u32 | n × { seq u32 | offset u32 }
//	4 end     number of queues u32
//
// CURRENT names the published one: "DABBACUR" | version u32 | number u64 | CRC32C u32 of what precedes.
const (
	checkpointMagic   = "DABBACKP"
	currentMagic      = "DABBACUR"
	checkpointVersion = 1

	sectionStart uint8 = iota - 2
	sectionPairs
	sectionQueue
	sectionEnd

	sectionHead = 9
	currentName = "CURRENT"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checkpointName(n uint64) string { return fmt.Sprintf("checkpoint-%08d", n) }

// start is what a checkpoint says about the journal and the clock.
type start struct {
	journal.Start
	at model.Millis
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
	return b
}

func decodeStart(b []byte) (start, error) {
	if len(b) < 28 || len(b) != 28+4*int(binary.LittleEndian.Uint32(b[24:])) {
		return start{}, fmt.Errorf("start section of %d bytes: %w", len(b), store.ErrCorrupt)
	}
	st := start{at: model.Millis(binary.LittleEndian.Uint64(b[16:]))}
	st.File = binary.LittleEndian.Uint32(b)
	st.Offset = binary.LittleEndian.Uint32(b[4:])
	st.After = journal.LSN(binary.LittleEndian.Uint64(b[8:]))
	for b = b[28:]; len(b) > 0; b = b[4:] {
		st.Sealed = append(st.Sealed, binary.LittleEndian.Uint32(b))
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
		if e, b = decodeExtent(b); e == nil {
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

func (s *Store) checkpointLocked() error {
	began := s.o.Now()
	st := start{Start: s.journal.Mark(), at: s.clock.Now()}
	sealed := s.sealedBefore(st.File)
	number := s.upkeep.published + 1
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
		return fmt.Errorf("publish checkpoint %d: %w", number, err)
	}
	s.journal.SetStart(st.Start)
	if f := s.o.Events.Checkpoint; f != nil {
		f(s.o.Now().Sub(began), int(w.at))
	}
	return s.release(sealed, needed)
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
	for _, file := range sealed {
		if needed[file] {
			st.Sealed = append(st.Sealed, file)
		}
	}
	if err := w.add(sectionStart, st.encode(nil)); err != nil {
		return nil, err
	}
	return needed, w.add(sectionEnd, binary.LittleEndian.AppendUint32(nil, count))
}

// publish makes a complete, synced checkpoint the one that counts and removes the one before.
func (s *Store) publish(number uint64) error {
	dir, fsys := s.o.Dir, s.fs()
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32([]byte(currentMagic), checkpointVersion)
	b = binary.LittleEndian.AppendUint64(b, number)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if err := replace(fsys, path.Join(dir, currentName), b); err != nil {
		return err
	}
	before := s.upkeep.published
	s.upkeep.published = number
	if before == 0 {
		return nil
	}
	return fsys.Remove(path.Join(dir, checkpointName(before)))
}

// replace writes a small file so that it has either the old or the new content.
func replace(fsys disk.FS, name string, b []byte) error {
	tmp := name + ".tmp"
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// current reads which checkpoint counts; 0 if the folder has none yet.
func current(fsys disk.FS, dir string) (uint64, error) {
	name := path.Join(dir, currentName)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [24]byte
	if n, err := f.ReadAt(b[:], 0); n < len(b) {
		return 0, fmt.Errorf("%s: %d bytes of %d: %w: %w", name, n, len(b), store.ErrCorrupt, err)
	}
	if err := checkHead(name, b[:], currentMagic); err != nil {
		return 0, err
	}
	if crc32.Checksum(b[:20], castagnoli) != binary.LittleEndian.Uint32(b[20:]) {
		return 0, fmt.Errorf("%s: checksum: %w", name, store.ErrCorrupt)
	}
	return binary.LittleEndian.Uint64(b[12:]), nil
}

// checkHead checks magic and version.
func checkHead(name string, b []byte, magic string) error {
	if string(b[:8]) != magic {
		return fmt.Errorf("%s: not a Dabba file: %w", name, store.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != checkpointVersion {
		return fmt.Errorf("%s: format version %d, this program reads %d; use the program that wrote it: %w",
			name, v, checkpointVersion, store.ErrVersion)
	}
	return nil
}

// sections writes a checkpoint file.
type sections struct {
	name string
	disk.File
	at       int64 // length so far
	unsynced int64
}

// syncEvery paces the writing of a checkpoint, so that a sync of the journal does not wait behind all of it.
const syncEvery = 2 << 20

func (s *Store) newSections(name string) (*sections, error) {
	full := path.Join(s.o.Dir, name)
	if err := s.fs().Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := s.fs().Create(full)
	if err != nil {
		return nil, err
	}
	w := &sections{name: name, File: f}
	return w, w.write(binary.LittleEndian.AppendUint32([]byte(checkpointMagic), checkpointVersion))
}

func (w *sections) add(kind uint8, content []byte) error {
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(content)))
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, content)
	if err := w.write(binary.LittleEndian.AppendUint32(head, sum)); err != nil {
		return err
	}
	return w.write(content)
}

func (w *sections) write(b []byte) error {
	if _, err := w.WriteAt(b, w.at); err != nil {
		return err
	}
	w.at += int64(len(b))
	if w.unsynced += int64(len(b)); w.unsynced < syncEvery {
		return nil
	}
	w.unsynced = 0
	return w.Sync()
}

func (w *sections) finish() error {
	return errors.Join(w.Sync(), w.Close())
}

// loadCheckpoint calls fn for each section of a checkpoint.
func loadCheckpoint(fsys disk.FS, dir string, number uint64, fn func(kind uint8, content []byte) error) error {
	name := path.Join(dir, checkpointName(number))
	f, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("open checkpoint: %w: %w", store.ErrCorrupt, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	r := io.NewSectionReader(f, 0, size)
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fmt.Errorf("%s: %w: %w", name, store.ErrCorrupt, err)
	}
	if err := checkHead(name, head[:], checkpointMagic); err != nil {
		return err
	}
	for at := int64(len(head)); ; {
		kind, content, err := readSection(r, size-at)
		if err == nil {
			err = fn(kind, content)
		}
		if err != nil {
			return fmt.Errorf("%s at %d: %w", name, at, err)
		}
		if kind == sectionEnd {
			return nil
		}
		at += sectionHead + int64(len(content))
	}
}

func readSection(r io.Reader, left int64) (kind uint8, content []byte, err error) {
	var head [sectionHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, fmt.Errorf("section header: %w: %w", store.ErrCorrupt, err)
	}
	n := int64(binary.LittleEndian.Uint32(head[1:]))
	if n > left-sectionHead {
		return 0, nil, fmt.Errorf("section of %d bytes, %d left: %w", n, left-sectionHead, store.ErrCorrupt)
	}
	content = make([]byte, n)
	if _, err := io.ReadFull(r, content); err != nil {
		return 0, nil, fmt.Errorf("section: %w: %w", store.ErrCorrupt, err)
	}
	if crc32.Update(crc32.Checksum(head[:5], castagnoli), castagnoli, content) != binary.LittleEndian.Uint32(head[5:]) {
		return 0, nil, fmt.Errorf("section checksum: %w", store.ErrCorrupt)
	}
	return head[0], content, nil
}

// removeStale removes checkpoints other than the published one, and half-written files.
func (s *Store) removeStale(published uint64) error {
	names, err := s.fs().List(s.o.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		stale := strings.HasPrefix(name, "checkpoint-") && name != checkpointName(published) || name == currentName+".tmp"
		if !stale {
			continue
		}
		if err := s.fs().Remove(path.Join(s.o.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}
