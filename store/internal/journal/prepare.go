package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"
	"time"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// prepareAgain is the time between attempts to make a spare.
const prepareAgain = 250 * time.Millisecond

// prepareLoop is the preparer: it sees to it that there is a spare.
func (j *Journal) prepareLoop() {
	defer close(j.prepared)
	retry := time.NewTimer(prepareAgain)
	defer retry.Stop()
	for {
		if err := j.prepare(); err != nil {
			if j.o.Events.PrepareFailed != nil {
				j.o.Events.PrepareFailed(err)
			}
			retry.Reset(prepareAgain)
		} else {
			retry.Stop()
		}
		select {
		case <-j.prepareNow:
		case <-retry.C:
		case <-j.stopping:
			return
		}
	}
}

// prepare makes a spare if there is none with the room that is wanted.
func (j *Journal) prepare() error {
	small, room, wanted := j.wantsSpare()
	if !wanted {
		return nil
	}
	var spare *dataFile
	var err error
	if small != nil {
		if err = j.discardFor(small, room); disk.NoSpace(err) {
			spare = small
		}
	}
	if err == nil {
		spare, err = j.makeSpare(room)
	}
	if spare == nil && room > j.usualRoom() {
		spare, _ = j.makeSpare(j.usualRoom()) // better than none; the error told is that of the larger one
	}
	if small := j.emergencyRoom(); spare == nil && disk.NoSpace(err) && small > 0 && small < j.usualRoom() {
		spare, _ = j.makeSpare(small)
	}
	if err != nil {
		err = fmt.Errorf("prepare a data file: %w", err)
	}
	return j.prepareDone(spare, err)
}

// wantsSpare says whether a spare is to be made, with how much room, and takes away the present one if it is too small.
func (j *Journal) wantsSpare() (small *dataFile, room int64, wanted bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	room = max(j.wantRoom, j.needRoom)
	if j.failure != nil || (j.spare != nil && j.spareRoom >= room) {
		return nil, 0, false
	}
	if j.spare != nil {
		// From here to the result of the attempt there is no reason to refuse what would have fitted.
		small, j.spare, j.spareRoom, j.prepareErr = j.spare, nil, 0, nil
	}
	return small, max(j.usualRoom(), room), true
}

// emergencyRoom is the room of a small spare for essential records that were refused; 0 if none were.
func (j *Journal) emergencyRoom() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.starved == 0 || j.spare != nil {
		return 0
	}
	return record.Blocks(j.starved + 3*j.margin())
}

// discardFor removes a spare to make a larger one, if there is likely to be space for that.
func (j *Journal) discardFor(small *dataFile, room int64) error {
	free, err := j.o.FS.Free(j.o.Dir)
	if err != nil {
		return err
	}
	if size := firstBatch + room + sealSize; free < size-small.capacity {
		return fmt.Errorf("a file of %d bytes: %w", size, syscall.ENOSPC)
	}
	return j.discard(small)
}

// prepareDone publishes the outcome of an attempt, perhaps both a spare and an error, and returns the error. A size that could not be had for a record that
// may come is not insisted on: who wants it asks again.
func (j *Journal) prepareDone(spare *dataFile, err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attempts++
	j.prepareErr = err
	if spare != nil {
		j.spare, j.spareRoom, j.starved = spare, spare.room(firstBatch), 0
	}
	if err != nil {
		j.wantRoom = 0
	}
	j.freeRoom()
	close(j.spareChanged)
	j.spareChanged = make(chan struct{})
	return err
}

// makeSpare makes a data file with that much room, under its name and durable to the last byte.
func (j *Journal) makeSpare(room int64) (*dataFile, error) {
	size := firstBatch + room + sealSize
	if size > maxFileSize {
		return nil, fmt.Errorf("a file of %d bytes is too large", size)
	}
	for {
		salt, err := newSalt(j.o.Rand)
		if err != nil {
			return nil, err
		}
		h := record.FileHeader{Kind: record.Journal, Salt: salt, Size: size}
		free := j.allot(&h)
		if free == "" {
			return j.fresh(h)
		}
		h.Recycled = true
		if d, err := j.recycle(free, h); err == nil {
			return d, nil
		} // it was removed: what is wrong with a file that holds nothing matters to nobody
	}
}

// allot gives a file to be made its number, and a file to make it from if one is free and large enough.
func (j *Journal) allot(h *record.FileHeader) (free string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.Number = j.nextFile
	h.Floor = j.next - LSN(len(j.line))
	j.nextFile++
	if n := len(j.free); n > 0 && h.Size == j.o.FileSize {
		free = j.free[n-1]
		j.free = j.free[:n-1]
	}
	return free
}

// fresh makes a data file from nothing. Its blocks are written, and not only reserved, so that a sync of the active
// file has no blocks to note down.
func (j *Journal) fresh(h record.FileHeader) (d *dataFile, err error) {
	name := path.Join(j.o.Dir, fmt.Sprintf("%08d%s", h.Number, tmpSuffix))
	f, err := j.o.FS.Create(name)
	if err != nil {
		return nil, err
	}
	d = &dataFile{File: f, header: h, capacity: h.Size}
	defer func() {
		if err != nil {
			d, err = nil, errors.Join(err, f.Close(), j.removeAny(name, j.path(h.Number)))
		}
	}()
	if err := zeroFill(f, 0, h.Size); err != nil {
		return nil, fmt.Errorf("fill %s: %w", name, err)
	}
	return d, j.introduce(d, name)
}

// recycle makes a data file from one that holds nothing live any more. The new salt turns all it holds into noise.
func (j *Journal) recycle(free string, h record.FileHeader) (d *dataFile, err error) {
	name := path.Join(j.o.Dir, free)
	f, err := j.o.FS.Open(name)
	if err != nil {
		return nil, errors.Join(err, j.removeAny(name))
	}
	d = &dataFile{File: f, header: h, capacity: h.Size}
	defer func() {
		if err != nil {
			d, err = nil, errors.Join(err, f.Close(), j.removeAny(name, j.path(h.Number)))
		}
	}()
	switch size, err := f.Size(); {
	case err != nil:
		return nil, err
	case size != h.Size:
		return nil, fmt.Errorf("recycle %s: it has %d bytes and not %d", name, size, h.Size)
	}
	return d, j.introduce(d, name)
}

// introduce writes the header of a file whose other blocks are in place and gives it its name.
func (j *Journal) introduce(d *dataFile, name string) error {
	if _, err := d.WriteAt(d.header.Block(), 0); err != nil {
		return fmt.Errorf("write header of %s: %w", name, err)
	}
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	if err := j.o.FS.Rename(name, j.path(d.number())); err != nil {
		return err
	}
	return j.o.FS.SyncDir(j.o.Dir)
}

// discard removes a spare.
func (j *Journal) discard(spare *dataFile) error {
	name := j.path(spare.number())
	if err := errors.Join(spare.Close(), j.o.FS.Remove(name)); err != nil {
		return fmt.Errorf("remove spare %s: %w", name, err)
	}
	return j.o.FS.SyncDir(j.o.Dir)
}

// removeAny removes what is there of these files.
func (j *Journal) removeAny(names ...string) error {
	var errs []error
	for _, name := range names {
		if err := j.o.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (j *Journal) path(number uint32) string { return path.Join(j.o.Dir, fileName(number)) }
