package journal

import (
	"errors"
	"fmt"
	"io"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// firstRead is how much is read of a record whose length is not known.
const firstRead = 4096

// Read returns the record at a position that Placed, replay or a [Writer] gave, once it was published as durable. The
// payload lies in buf if its capacity suffices, which it should by a record's size to make it a single read. Everything
// is checked: an error that wraps [store.ErrCorrupt] names file and offset. [ErrReleased] means that the record has
// moved or is gone.
func (j *Journal) Read(pos Position, buf []byte) (record.Record, error) {
	f, done, err := j.borrow(pos.File)
	if err != nil {
		return record.Record{}, err
	}
	defer done()
	return f.read(pos.Offset, buf)
}

func (f *dataFile) read(offset uint32, buf []byte) (record.Record, error) {
	if cap(buf) < record.HeaderSize {
		buf = make([]byte, firstRead)
	}
	got, err := f.readSome(buf[:cap(buf)], offset)
	if err != nil {
		return record.Record{}, err
	}
	n, err := record.Length(got)
	if err != nil {
		return record.Record{}, f.corrupt(int64(offset), err)
	}
	if n > len(got) && int64(offset)+int64(n) <= f.end.Load() {
		if got, err = f.readSome(make([]byte, n), offset); err != nil {
			return record.Record{}, err
		}
	}
	r, err := record.Parse(got, f.header.Salt, offset)
	if err != nil {
		return record.Record{}, f.corrupt(int64(offset), err)
	}
	return r, nil
}

// readSome fills buf from offset, as far as there is something to read.
func (f *dataFile) readSome(buf []byte, offset uint32) ([]byte, error) {
	n := max(0, min(int64(len(buf)), f.end.Load()-int64(offset)))
	got, err := f.ReadAt(buf[:n], int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s at %d: %w", fileName(f.number()), offset, err)
	}
	return buf[:got], nil
}

func (f *dataFile) corrupt(offset int64, err error) error {
	return fmt.Errorf("%w: %s at %d: %w", store.ErrCorrupt, fileName(f.number()), offset, err)
}

// Walk calls fn for the record at from and for each one that follows it in the file, until fn returns false or the file
// ends. The payload is valid only during the call. Errors are those of [Journal.Read], or that of fn.
func (j *Journal) Walk(from Position, fn func(lsn LSN, pos Position, r record.Record) (bool, error)) error {
	f, done, err := j.borrow(from.File)
	if err != nil {
		return err
	}
	defer done()
	return f.walk(from.Offset, record.MaxPayload, false, func(s Skimmed) (bool, error) { return fn(s.LSN, s.Position, s.Record) })
}

// walk calls fn for the record at this offset and for those that follow, of longer ones than longest only the beginning.
// Damage ends it, or, if it is to go on behind it, is returned in the end.
func (f *dataFile) walk(offset uint32, longest int, goOn bool, fn func(s Skimmed) (bool, error)) (damage error) {
	w := windows.Get().(*window)
	defer windows.Put(w)
	w.open(f, f.end.Load())
	for at := int64(offset); at < w.end; {
		r, size, err := f.recordAt(w, at, longest)
		if err != nil && (!goOn || !errors.Is(err, store.ErrCorrupt)) {
			return err
		}
		if err != nil {
			var intact bool
			if at, intact = f.past(w, at); !intact {
				return err
			}
			damage = err
			continue
		}
		pos := Position{File: f.number(), Offset: uint32(at)}
		more, err := fn(Skimmed{Record: r, Position: pos, Whole: size == r.Size(), Length: size, file: f})
		if err != nil {
			return errors.Join(err, damage)
		}
		if !more {
			return nil
		}
		at += int64(size)
		if !r.Last {
			at = record.Align(at)
			continue
		}
		if at, err = f.nextBatch(w, record.Blocks(at)); err != nil {
			return err
		}
	}
	return damage
}

// recordAt reads the record at this offset and returns its size, too. It is valid until the window is used again. A
// payload longer than longest is cut off there, and the record not checked.
func (f *dataFile) recordAt(w *window, at int64, longest int) (record.Record, int, error) {
	head, err := w.bytes(at, record.HeaderSize)
	if err != nil {
		return record.Record{}, 0, fmt.Errorf("read %s at %d: %w", fileName(f.number()), at, err)
	}
	size, err := record.Length(head)
	if err != nil {
		return record.Record{}, 0, f.corrupt(at, err)
	}
	b, err := w.bytes(at, min(size, record.HeaderSize+longest))
	if err != nil {
		return record.Record{}, 0, fmt.Errorf("read %s at %d: %w", fileName(f.number()), at, err)
	}
	if len(b) < size && len(b) == record.HeaderSize+longest {
		return record.Peek(b), size, nil
	}
	r, err := record.Parse(b, f.header.Salt, uint32(at))
	if err != nil {
		return record.Record{}, 0, f.corrupt(at, err)
	}
	return r, size, nil
}

// nextBatch returns the offset of the first record of the batch at this offset, or the window's end if none follows.
func (f *dataFile) nextBatch(w *window, at int64) (int64, error) {
	if at >= w.end {
		return w.end, nil
	}
	b, err := w.bytes(at, record.BatchHeaderSize)
	if err != nil {
		return 0, fmt.Errorf("read %s at %d: %w", fileName(f.number()), at, err)
	}
	h, err := record.ParseBatchHeader(b, f.header.Salt, f.number(), uint32(at))
	switch {
	case err != nil:
		return 0, f.corrupt(at, err)
	case h.Count == 0:
		return w.end, nil
	}
	return at + record.BatchHeaderSize, nil
}
