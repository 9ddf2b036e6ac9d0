package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Open opens the journal in a directory, which it makes if need be. It hands every record from the start on to replay,
// in order; payloads are valid only during the call, and an error of replay ends Open with it. What was handed on is
// durable when Open returns, and LSNs go on above all of it.
//
// Data files that are neither in start nor in the chain that begins there hold nothing and are removed. The caller
// holds a lock that keeps others away from the directory.
//
// Errors wrap [store.ErrCorrupt] for damage to what had been acknowledged or to what start says exists (see
// Options.Quarantine), [store.ErrVersion] for files of another format.
func Open(o Options, start Start, replay func(lsn LSN, pos Position, r record.Record) error) (*Journal, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	j := &Journal{
		o:            o,
		start:        start,
		nextFile:     1,
		files:        make(map[uint32]*dataFile),
		gathering:    make(chan struct{}),
		roomFreed:    make(chan struct{}),
		spareChanged: make(chan struct{}),
		wake:         make(chan struct{}, 1),
		prepareNow:   make(chan struct{}, 1),
		committed:    make(chan struct{}),
		stopping:     make(chan struct{}),
		prepared:     make(chan struct{}),
	}
	if err := j.recover(replay); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal in %s: %w", o.Dir, err), j.closeFiles())
	}
	j.newTimers()
	go j.commitLoop()
	go j.prepareLoop()
	return j, nil
}

// recover brings the journal to where appending can begin.
func (j *Journal) recover(replay func(lsn LSN, pos Position, r record.Record) error) error {
	if err := j.o.FS.MkdirAll(j.o.Dir); err != nil {
		return err
	}
	numbers, err := j.list()
	if err != nil {
		return err
	}
	// A process that was killed may have left names that only the page cache knows. They are relied on from now on.
	if err := j.o.FS.SyncDir(j.o.Dir); err != nil {
		return err
	}
	r := recovery{j: j, replay: replay, expected: j.start.After + 1, highest: j.start.After}
	if j.start.File == 0 {
		j.next = 1
		if err := j.begin(numbers); err != nil {
			return err
		}
	} else {
		if err := r.run(); err != nil {
			return err
		}
		if err := j.openSealed(); err != nil {
			return err
		}
		if err := r.settle(numbers); err != nil {
			return err
		}
		j.next = r.highest + lsnGap
	}
	j.written, j.synced = r.last(), r.last()
	j.durable.Store(uint64(j.next - 1))
	j.left = j.active.room(j.tail)
	j.mark = Start{File: j.active.number(), Offset: uint32(j.tail), After: r.highest}
	return nil
}

// list sorts out what lies in the directory: it returns the numbers of the data files, notes which files are free, and
// removes what was left half-made.
func (j *Journal) list() ([]uint32, error) {
	names, err := j.o.FS.List(j.o.Dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, name := range names {
		number, suffix, ours := parseName(name)
		if !ours {
			continue
		}
		j.nextFile = max(j.nextFile, number+1)
		switch {
		case suffix == fileSuffix:
			numbers = append(numbers, number)
		case suffix == freeSuffix && len(j.free) < keepFree:
			j.free = append(j.free, name)
		case suffix == freeSuffix, suffix == tmpSuffix:
			if err := j.o.FS.Remove(path.Join(j.o.Dir, name)); err != nil {
				return nil, err
			}
		}
	}
	for _, number := range append(slices.Clone(j.start.Sealed), j.start.File) {
		j.nextFile = max(j.nextFile, number+1)
	}
	return numbers, nil
}

// begin makes the first file of a new journal.
func (j *Journal) begin(numbers []uint32) error {
	for _, number := range numbers {
		f, err := openFile(j.o.FS, j.o.Dir, number)
		if errors.Is(err, store.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		used, err := holdsBatch(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if used {
			return fmt.Errorf("%w: %s holds records although the store knows of no journal: its manifest is missing; "+
				"restore it or use an empty folder", store.ErrCorrupt, fileName(number))
		}
	}
	for _, number := range numbers {
		if err := j.drop(number); err != nil {
			return err
		}
	}
	f, err := j.makeSpare(j.usualRoom())
	if err != nil {
		return fmt.Errorf("make the first data file: %w", err)
	}
	j.activate(f, firstBatch)
	return nil
}

// activate makes f the file to be written, from tail on.
func (j *Journal) activate(f *dataFile, tail int64) {
	f.end.Store(tail)
	j.register(f)
	j.active, j.tail = f, tail
}

// holdsBatch says whether a data file begins with a batch.
func holdsBatch(f *dataFile) (bool, error) {
	_, err := newBatchReader(f, firstBatch, 0).next()
	if errors.Is(err, record.ErrInvalid) {
		return false, nil
	}
	return err == nil, err
}

// openSealed opens the files that hold something live and are not in the chain.
func (j *Journal) openSealed() error {
	for _, number := range j.start.Sealed {
		if j.files[number] != nil {
			continue
		}
		f, err := openNeeded(j.o.FS, j.o.Dir, number)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was let go of without a manifest that says so: the owner knows whether anything in it is left
		}
		if err != nil {
			return err
		}
		f.sealed.Store(true)
		j.register(f)
	}
	return nil
}

// drop removes a data file that is not needed.
func (j *Journal) drop(number uint32) error {
	if err := j.o.FS.Remove(j.path(number)); err != nil {
		return err
	}
	if j.o.Events.Removed != nil {
		j.o.Events.Removed(fileName(number))
	}
	return j.o.FS.SyncDir(j.o.Dir)
}
