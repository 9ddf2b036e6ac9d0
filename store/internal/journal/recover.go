package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// recovery is one pass over the chain of files.
type recovery struct {
	j      *Journal
	replay func(lsn LSN, pos Position, r record.Record) error
	// expected is what the next LSN must not be below, highest the highest one seen anywhere.
	expected, highest LSN
	// doubtful are batches that no later one vouches for: the page cache may hold them while the disk does not.
	doubtful []span
}

// span is a range of a file with the highest LSN in it.
type span struct {
	f        *dataFile
	from, to int64
	last     LSN
}

// last is the LSN of the last record that was handed on, or the start's.
func (r *recovery) last() LSN { return r.expected - 1 }

// run follows the chain to its end, and leaves the last file active.
func (r *recovery) run() error {
	start := r.j.start
	f, err := openNeeded(r.j.o.FS, r.j.o.Dir, start.File)
	if errors.Is(err, store.ErrCorrupt) && r.j.o.Quarantine {
		return r.startAnew(err)
	}
	if err != nil {
		return err
	}
	offset := max(int64(start.Offset), firstBatch)
	for {
		r.j.register(f)
		next, err := r.file(f, offset)
		if next == nil || err != nil {
			return err
		}
		f, offset = next, firstBatch
	}
}

// startAnew goes on in a new file when the one that the chain begins with is missing or has no header. What there is of
// it, and all that would follow, is set aside with the other strays.
func (r *recovery) startAnew(why error) error {
	f, err := r.j.makeSpare(r.j.usualRoom())
	if err != nil {
		return errors.Join(why, err)
	}
	r.j.activate(f, firstBatch)
	return nil
}

// file hands on the batches of one file and returns the one that follows. Where the batches end without a seal, the
// file becomes the active one.
func (r *recovery) file(f *dataFile, offset int64) (*dataFile, error) {
	b := newBatchReader(f, offset, r.expected)
	for {
		at := b.at
		h, err := b.next()
		if errors.Is(err, record.ErrInvalid) {
			return nil, r.end(b, err)
		}
		if err != nil {
			return nil, err
		}
		if h.Seal {
			next, err := r.follow(f, h)
			if errors.Is(err, store.ErrCorrupt) && r.j.o.Quarantine {
				b.at = at
				return nil, r.end(b, err)
			}
			f.sealed.Store(true)
			f.end.Store(b.at)
			r.vouch(h.Synced)
			r.doubtful = append(r.doubtful, span{f, at, b.at, h.Last()})
			return next, err
		}
		if err := r.hand(b, h, at); err != nil {
			return nil, err
		}
	}
}

// hand passes a batch on to replay.
func (r *recovery) hand(b *batchReader, h record.BatchHeader, at int64) error {
	r.vouch(h.Synced)
	if at == firstBatch {
		// This file is used only after the one before was sealed, and synced in all modes.
		r.doubtful = slices.DeleteFunc(r.doubtful, func(s span) bool { return s.f != b.f })
	}
	r.doubtful = append(r.doubtful, span{b.f, at, b.at, h.Last()})
	for _, p := range b.records {
		if err := r.replay(p.LSN, Position{b.f.number(), p.offset}, p.Record); err != nil {
			return fmt.Errorf("replay LSN %d from %s at %d: %w", p.LSN, fileName(b.f.number()), p.offset, err)
		}
	}
	r.expected = b.floor
	r.highest = max(r.highest, h.Last())
	return nil
}

// vouch drops from the doubtful batches those that had been synced when a later one was put together.
func (r *recovery) vouch(synced LSN) {
	for len(r.doubtful) > 0 && r.doubtful[0].last <= synced {
		r.doubtful = r.doubtful[1:]
	}
}

// follow opens the file that a seal names.
func (r *recovery) follow(f *dataFile, h record.BatchHeader) (*dataFile, error) {
	next, err := openNeeded(r.j.o.FS, r.j.o.Dir, h.Next)
	if err != nil {
		return nil, fmt.Errorf("%s is sealed and names %s as the next: %w", fileName(f.number()), fileName(h.Next), err)
	}
	if next.header.Kind != record.Journal {
		err := fmt.Errorf("%w: %s is no journal file", store.ErrCorrupt, fileName(h.Next))
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// end judges why no batch could be read where b stands, cuts off what is there, and makes the file the active one.
func (r *recovery) end(b *batchReader, why error) error {
	s, err := b.look()
	if err != nil {
		return err
	}
	r.highest = max(r.highest, s.highest)
	damaged := s.acknowledged || errors.Is(why, store.ErrCorrupt)
	if damaged && !r.j.o.Quarantine {
		return fmt.Errorf("%w; later batches say that it had been acknowledged: restore the file from a copy, or start "+
			"with quarantine to cut off what follows", b.f.corrupt(b.at, why))
	}
	if s.written > b.at {
		if err := r.j.cut(b.f, b.at, s.written, damaged, why); err != nil {
			return err
		}
	}
	r.j.activate(b.f, b.at)
	return nil
}

// settle makes what was recovered durable, and sorts out the files that are neither in the chain nor in the start: the
// first good one after the active file can be the spare.
func (r *recovery) settle(numbers []uint32) error {
	for _, s := range r.doubtful {
		if err := s.rewrite(); err != nil {
			return err
		}
	}
	for _, number := range numbers {
		if r.j.files[number] != nil {
			continue
		}
		if err := r.stray(number); err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes what was read once more: after a failed sync the page cache may show it as clean though the disk never
// got it. Where it did, sectors are replaced by the same ones.
func (s span) rewrite() error {
	buf := make([]byte, s.to-s.from)
	if _, err := s.f.ReadAt(buf, s.from); err != nil {
		return fmt.Errorf("read %s at %d: %w", fileName(s.f.number()), s.from, err)
	}
	if _, err := s.f.WriteAt(buf, s.from); err != nil {
		return fmt.Errorf("write %s at %d again: %w", fileName(s.f.number()), s.from, err)
	}
	if err := s.f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", fileName(s.f.number()), err)
	}
	return nil
}

// stray deals with a data file that nothing refers to.
func (r *recovery) stray(number uint32) error {
	f, err := openFile(r.j.o.FS, r.j.o.Dir, number)
	if errors.Is(err, store.ErrCorrupt) {
		if r.j.o.Quarantine {
			return r.j.setAside(number, err)
		}
		return r.j.drop(number)
	}
	if err != nil {
		return err
	}
	used, err := holdsBatch(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	follows := f.header.Kind == record.Journal && number > r.j.active.number()
	switch {
	case used && (follows || r.j.o.Quarantine):
		return errors.Join(r.beyond(f), f.Close())
	case !used && follows && r.j.spare == nil && f.capacity >= r.j.o.FileSize:
		r.j.spare, r.j.spareRoom = f, f.room(firstBatch)
		return nil
	}
	return errors.Join(f.Close(), r.j.drop(number))
}

// beyond deals with a file with batches after the end of the chain: the active file had been sealed, so it lost its
// seal at least.
func (r *recovery) beyond(f *dataFile) error {
	active := fileName(r.j.active.number())
	why := fmt.Errorf("%w: %s at %d: it has no seal, but %s holds records that follow: restore it from a copy, or start "+
		"with quarantine to set what follows aside", store.ErrCorrupt, active, r.j.tail, fileName(f.number()))
	if !r.j.o.Quarantine {
		return why
	}
	s, err := newBatchReader(f, firstBatch, 0).look()
	if err != nil {
		return err
	}
	r.highest = max(r.highest, s.highest)
	return r.j.setAside(f.number(), why)
}

// openNeeded opens a data file that must exist.
func openNeeded(fsys disk.FS, dir string, number uint32) (*dataFile, error) {
	f, err := openFile(fsys, dir, number)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing: restore it from a copy: %w", store.ErrCorrupt, fileName(number), err)
	}
	return f, err
}
