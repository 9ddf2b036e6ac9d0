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
)

// CURRENT names the published checkpoint: "DABBACUR" | version u32 | number u64 | CRC32C u32 of what precedes.
const (
	currentName  = "CURRENT"
	currentMagic = "DABBACUR"
)

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
	s.upkeep.published = number
	return s.removeStale(number)
}

// fileWriter is an open file as those see it who fill it.
type fileWriter interface {
	io.WriterAt
	Sync() error
}

// replace writes a small file so that it has either the old or the new content.
func replace(fsys disk.FS, name string, b []byte) error {
	return replaceWith(fsys, name, func(f fileWriter) error {
		_, err := f.WriteAt(b, 0)
		return err
	})
}

// replaceWith is replace with content that is written piece by piece.
func replaceWith(fsys disk.FS, name string, write func(fileWriter) error) error {
	tmp := name + ".tmp"
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, fsys.Remove(tmp)) // it takes up room that may be short
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
	defer f.Close() //nolint:errcheck // only read
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

// published says whether a folder once had a published checkpoint, by the names in it: the first one is published before
// the second is begun.
func published(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, checkpointPrefix) && name != checkpointName(1)
	})
}

// checkHead checks magic and version.
func checkHead(name string, b []byte, magic string) error {
	if string(b[:8]) != magic {
		return fmt.Errorf("%s: not a Dabba file: %w", name, store.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v < oldestCheckpointVersion || v > checkpointVersion {
		return fmt.Errorf("%s: format version %d, this program reads %d to %d; use the program that wrote it: %w",
			name, v, oldestCheckpointVersion, checkpointVersion, store.ErrVersion)
	}
	return nil
}

// removeStale removes checkpoints other than the published one, and half-written files.
func (s *Store) removeStale(published uint64) error {
	names, err := s.fs().List(s.o.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		stale := strings.HasPrefix(name, checkpointPrefix) && name != checkpointName(published) || name == currentName+".tmp"
		if !stale {
			continue
		}
		if err := s.fs().Remove(path.Join(s.o.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}
