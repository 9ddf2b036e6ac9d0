package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// The ballast is a file of zeros that takes up room for the time when there is none: to give room back needs some first,
// for a checkpoint and for what a merge copies. It is removed then, and made again once there is room.
const (
	ballastName = "ballast"
	// maxBallast is its size, unless a data file or two checkpoints are smaller or larger.
	maxBallast = 16 << 20
)

// ballastSize is how large the ballast should be: room for a data file of the usual size that is not large, and for the
// next checkpoint in any case.
func (s *Store) ballastSize() int64 {
	return max(min(s.o.FileSize, maxBallast), 2*s.upkeep.checkpointed)
}

// findBallast notes whether there is a ballast, and removes one that was left half-made.
func (s *Store) findBallast() error {
	name := path.Join(s.o.Dir, ballastName)
	if err := s.fs().Remove(name + ".tmp"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := s.fs().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	size, err := f.Size()
	s.upkeep.ballast.Store(size)
	return errors.Join(err, f.Close())
}

// takeBallast makes a ballast if there is none of the size it should have, and as much room again is left beside it.
func (s *Store) takeBallast() {
	size := s.ballastSize()
	if have := s.upkeep.ballast.Load(); have >= size {
		return
	}
	free, err := s.fs().Free(s.o.Dir)
	if err != nil || free < 2*size {
		return
	}
	name := path.Join(s.o.Dir, ballastName)
	if err := replaceWith(s.fs(), name, func(f fileWriter) error { return writeZeros(f, size) }); err != nil {
		return // it is tried again, and what is kept back beside it is enough in most cases
	}
	s.upkeep.ballast.Store(size)
}

// giveBallast removes the ballast and returns how many bytes that gave.
func (s *Store) giveBallast() (int64, error) {
	size := s.upkeep.ballast.Load()
	if size == 0 {
		return 0, nil
	}
	if err := s.fs().Remove(path.Join(s.o.Dir, ballastName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("remove the ballast: %w", err)
	}
	s.upkeep.ballast.Store(0)
	return size, s.fs().SyncDir(s.o.Dir)
}

// zeros is what the ballast is written from.
var zeros = make([]byte, 256<<10)

// writeZeros fills a file, synced every now and then, so that no sync of the journal waits long behind it.
func writeZeros(f fileWriter, size int64) error {
	unsynced := int64(0)
	for at := int64(0); at < size; {
		n := min(size-at, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], at); err != nil {
			return err
		}
		at += n
		if unsynced += n; unsynced >= syncEvery {
			unsynced = 0
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	return nil
}
