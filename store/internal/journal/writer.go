package journal

import (
	"errors"
	"fmt"
	"path"

	"github.com/dabba-mq/dabba/store/internal/record"
)

const (
	// writerBatch is the size a Writer's batches are written at.
	writerBatch = 1 << 20
	// writerSync is how much it writes between syncs, so that no sync of the journal waits long behind one.
	writerSync = 2 << 20
)

// Writer writes a whole sealed data file. It is not safe for concurrent use. After an error the file is of no use:
// Abort it.
type Writer struct {
	j     *Journal
	f     *dataFile
	tmp   string
	batch []byte
	count uint32
	first LSN
	// last is the offset in batch of the last record, which is stamped when it is known whether another follows it.
	last    int
	lastLSN LSN
	unsync  int64
}

// NewWriter begins a data file. It appears under its name, and in [Journal.Files], with Finish.
func (j *Journal) NewWriter() (*Writer, error) {
	salt, err := newSalt(j.o.Rand)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	number := j.nextFile
	j.nextFile++
	j.mu.Unlock()
	w := &Writer{j: j, tmp: path.Join(j.o.Dir, fmt.Sprintf("%08d%s", number, tmpSuffix))}
	f, err := j.o.FS.Create(w.tmp)
	if err != nil {
		return nil, fmt.Errorf("create data file %s: %w", w.tmp, err)
	}
	w.f = &dataFile{File: f, header: record.FileHeader{Kind: record.Merged, Number: number, Salt: salt}}
	if err := w.put(w.f.header.Block()); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// Size is what the file takes if it is finished now.
func (w *Writer) Size() int64 {
	size := w.f.end.Load() + sealSize
	if w.count > 0 {
		size += record.Blocks(int64(len(w.batch)))
	}
	return size
}

// Append adds a record that keeps its LSN and returns its place. Only LSN, Type, Version, Object and Payload of r count.
// Readers see it once Finish returned.
func (w *Writer) Append(r record.Record) (Position, error) {
	at := record.Align(max(len(w.batch), record.BatchHeaderSize))
	if w.count > 0 && at+r.Size() > writerBatch {
		if err := w.flush(); err != nil {
			return Position{}, err
		}
		at = record.BatchHeaderSize
	}
	end := at + r.Size()
	if w.f.end.Load()+record.Blocks(int64(end))+sealSize > maxFileSize {
		return Position{}, fmt.Errorf("data file %s: no place for %d more bytes below 4 GiB", w.tmp, r.Size())
	}
	w.batch = append(w.batch, make([]byte, end-len(w.batch))...)
	b := w.batch[at:end]
	copy(b[record.HeaderSize:], r.Payload)
	record.Seal(b, r.Type, r.Version, r.Object)
	w.stamp(false)
	if w.count == 0 {
		w.first = r.LSN
	}
	w.count++
	w.last, w.lastLSN = at, r.LSN
	return Position{w.f.number(), uint32(w.f.end.Load()) + uint32(at)}, nil
}

// stamp finishes the record that was appended last.
func (w *Writer) stamp(last bool) {
	if w.count == 0 {
		return
	}
	b := w.batch[w.last:]
	n, err := record.Length(b)
	if err != nil {
		panic(fmt.Sprintf("journal: the writer's own record: %v", err))
	}
	record.Stamp(b[:n], w.lastLSN, last, w.f.header.Salt, uint32(w.f.end.Load())+uint32(w.last))
}

// flush writes the batch that was gathered.
func (w *Writer) flush() error {
	if w.count == 0 {
		return nil
	}
	w.stamp(true)
	used := len(w.batch)
	w.batch = append(w.batch, make([]byte, int(record.Blocks(int64(used)))-used)...)
	record.PutBatchHeader(w.batch, record.BatchHeader{
		Length: uint32(used - record.BatchHeaderSize),
		Count:  w.count,
		First:  w.first,
	}, w.f.header.Salt, w.f.number(), uint32(w.f.end.Load()))
	if err := w.put(w.batch); err != nil {
		return err
	}
	w.batch, w.count = w.batch[:0], 0
	if cap(w.batch) > 4*writerBatch {
		w.batch = nil
	}
	return nil
}

// put writes at the end of the file and syncs every now and then.
func (w *Writer) put(b []byte) error {
	if _, err := w.f.WriteAt(b, w.f.end.Load()); err != nil {
		return fmt.Errorf("write %s: %w", w.tmp, err)
	}
	w.f.end.Add(int64(len(b)))
	if w.unsync += int64(len(b)); w.unsync < writerSync {
		return nil
	}
	return w.sync()
}

func (w *Writer) sync() error {
	w.unsync = 0
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", w.tmp, err)
	}
	return nil
}

// Finish seals the file and makes it durable under its name. Its records can be read by position from then on. The
// manifest must name it before the journal is opened again, or it will be removed.
func (w *Writer) Finish() (FileInfo, error) {
	if err := w.flush(); err != nil {
		return FileInfo{}, err
	}
	block := make([]byte, sealSize)
	record.PutBatchHeader(block, record.BatchHeader{Seal: true}, w.f.header.Salt, w.f.number(), uint32(w.f.end.Load()))
	if err := w.put(block); err != nil {
		return FileInfo{}, err
	}
	if err := w.sync(); err != nil {
		return FileInfo{}, err
	}
	if err := w.j.o.FS.Rename(w.tmp, w.j.path(w.f.number())); err != nil {
		return FileInfo{}, fmt.Errorf("finish %s: %w", w.tmp, err)
	}
	if err := w.j.o.FS.SyncDir(w.j.o.Dir); err != nil {
		return FileInfo{}, fmt.Errorf("finish %s: %w", w.tmp, err)
	}
	w.f.capacity = w.f.end.Load()
	w.f.sealed.Store(true)
	w.j.register(w.f)
	return w.f.info(), nil
}

// Abort removes what was written. Not after a successful Finish.
func (w *Writer) Abort() error {
	return errors.Join(w.f.Close(), w.j.removeAny(w.tmp, w.j.path(w.f.number())))
}
