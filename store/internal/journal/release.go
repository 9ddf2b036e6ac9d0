package journal

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/dabba-mq/dabba/store/internal/record"
)

// ErrReleased is returned for a position in a file that is no longer there: what was in it has moved or is gone.
var ErrReleased = errors.New("data file was released")

// keepFree is how many files are kept to be used again.
const keepFree = 2

// Kept is how many bytes the released files have that are kept to be used again: room on the disk that only the journal
// can use.
func (j *Journal) Kept() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int64(len(j.free)) * j.o.FileSize
}

// GiveBack removes the released files that are kept to be used again, durably, and returns how many bytes that gave.
func (j *Journal) GiveBack() (int64, error) {
	j.mu.Lock()
	free := j.free
	j.free = nil
	j.mu.Unlock()
	var errs []error
	for _, name := range free {
		errs = append(errs, j.removeAny(path.Join(j.o.Dir, name)))
	}
	if len(free) > 0 {
		errs = append(errs, j.o.FS.SyncDir(j.o.Dir))
	}
	return int64(len(free)) * j.o.FileSize, errors.Join(errs...)
}

// GiveSpare removes the file that is ready to follow the active one, if there is one, and returns how many bytes that
// gave. Whoever needs it waits until [Journal.Prepare] is called.
func (j *Journal) GiveSpare() (int64, error) {
	j.mu.Lock()
	spare := j.spare
	if spare != nil {
		j.spare, j.spareRoom, j.prepareErr = nil, 0, nil
	}
	j.mu.Unlock()
	if spare == nil {
		return 0, nil
	}
	return spare.capacity, j.discard(spare)
}

// Prepare lets the next file be prepared now, if there is none: there may be room for it again.
func (j *Journal) Prepare() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.spare == nil {
		j.prepareErr = nil
	}
	signal(j.prepareNow)
}

// Release gives up a sealed file that holds nothing live any more; it is used again or removed, durably. Reads of it
// that are under way are waited for; later ones get [ErrReleased]. It refuses, and changes nothing, if recovery would
// still need the file: the file is not sealed, or not before the start last given to [Journal.SetStart]. Releasing a
// file that is not there is nil. It does I/O.
func (j *Journal) Release(number uint32) error {
	f, err := j.unregister(number)
	if f == nil || err != nil {
		return err
	}
	f.use.Lock()
	f.gone = ErrReleased
	err = f.Close()
	f.use.Unlock()
	if err := errors.Join(err, j.putAway(f)); err != nil {
		return fmt.Errorf("release %s: %w", fileName(number), err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.prepareErr != nil {
		signal(j.prepareNow)
	}
	return nil
}

// unregister takes a file out of the table if it may go.
func (j *Journal) unregister(number uint32) (*dataFile, error) {
	j.mu.Lock()
	first := j.start.File
	j.mu.Unlock()
	j.filesMu.Lock()
	defer j.filesMu.Unlock()
	f := j.files[number]
	switch {
	case f == nil:
		return nil, nil
	case !f.sealed.Load():
		return nil, fmt.Errorf("release %s: it is being written", fileName(number))
	case f.header.Kind == record.Journal && number >= first:
		return nil, fmt.Errorf("release %s: recovery starts at %s and needs it", fileName(number), fileName(first))
	}
	delete(j.files, number)
	return f, nil
}

// putAway keeps a released file to be used again if it has the usual size, or else removes it.
func (j *Journal) putAway(f *dataFile) error {
	name := j.path(f.number())
	free := strings.TrimSuffix(fileName(f.number()), fileSuffix) + freeSuffix
	j.mu.Lock()
	keep := f.capacity == j.o.FileSize && len(j.free) < keepFree && j.failure == nil
	j.mu.Unlock()
	if !keep {
		return errors.Join(j.o.FS.Remove(name), j.o.FS.SyncDir(j.o.Dir))
	}
	if err := j.o.FS.Rename(name, path.Join(j.o.Dir, free)); err != nil {
		return errors.Join(j.removeAny(name), j.o.FS.SyncDir(j.o.Dir)) // a name may need room, too
	}
	if err := j.o.FS.SyncDir(j.o.Dir); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.free = append(j.free, free)
	return nil
}
