package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
)

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
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s, which %s names, is missing: %w", name, currentName, store.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
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
