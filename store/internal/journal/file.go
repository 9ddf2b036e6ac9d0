package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

const (
	fileSuffix = ".journal"
	freeSuffix = ".free"
	tmpSuffix  = ".tmp"
	tornPrefix = "torn-"
	// firstBatch is where batches begin.
	firstBatch = record.BlockSize
	// sealSize is what the seal takes; the active file always has that much left.
	sealSize = record.BlockSize
)

// dataFile is an open data file.
type dataFile struct {
	disk.File
	header record.FileHeader
	// capacity is the size up to which the file may be written without needing new blocks. The committer owns it once
	// the file is active.
	capacity int64
	// end is where what may be read ends.
	end atomic.Int64
	// sealed says that the file will not change any more.
	sealed atomic.Bool

	// use is held for reading during each read, and for writing when the file is taken away; gone says why it was.
	use  sync.RWMutex
	gone error
}

func (f *dataFile) number() uint32 { return f.header.Number }

// room is the number of bytes of batches that still fit after tail, with the seal's block kept free.
func (f *dataFile) room(tail int64) int64 { return f.capacity - sealSize - tail }

func fileName(number uint32) string { return fmt.Sprintf("%08d%s", number, fileSuffix) }

// fileNumber reads the number of a data file from its name.
func fileNumber(name string) (uint32, bool) {
	number, suffix, _ := parseName(name)
	return number, suffix == fileSuffix && fileName(number) == name
}

// parseName reads the names the journal gives: a number and what follows it, after the prefix of a copy perhaps, whose
// suffix is then never that of a data file. Other files in the directory are not ours.
func parseName(name string) (number uint32, suffix string, ours bool) {
	copied := false
	for _, prefix := range []string{tornPrefix, quarantinePrefix} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name, copied = rest, true
		}
	}
	digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
	n, err := strconv.ParseUint(name[:digits], 10, 32)
	if err != nil || digits < 8 {
		return 0, "", false
	}
	suffix = name[digits:]
	switch {
	case copied && strings.HasSuffix(suffix, tmpSuffix):
		return uint32(n), tmpSuffix, true
	case copied:
		return uint32(n), "", true
	case suffix == fileSuffix, suffix == freeSuffix, suffix == tmpSuffix:
		return uint32(n), suffix, true
	}
	return 0, "", false
}

// openFile opens a data file and reads its header. A missing file and a bad header wrap [store.ErrCorrupt], another
// format [store.ErrVersion].
func openFile(fs disk.FS, dir string, number uint32) (_ *dataFile, err error) {
	name := path.Join(dir, fileName(number))
	f, err := fs.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open data file %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	block := make([]byte, record.BlockSize)
	if _, err := f.ReadAt(block, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read header of %s: %w", name, err)
	}
	h, err := record.ParseFileHeader(block)
	switch {
	case errors.Is(err, store.ErrVersion):
		return nil, fmt.Errorf("open data file %s: %w", name, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %s at 0: %w", store.ErrCorrupt, name, err)
	case h.Number != number:
		return nil, fmt.Errorf("%w: %s at 0: the header is that of file %d", store.ErrCorrupt, name, h.Number)
	}
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	if size < h.Size || size < record.BlockSize || size > maxFileSize {
		return nil, fmt.Errorf("%w: %s is %d bytes long and should be %d", store.ErrCorrupt, name, size, h.Size)
	}
	d := &dataFile{File: f, header: h, capacity: size &^ (record.BlockSize - 1)}
	d.end.Store(d.capacity)
	return d, nil
}

// newSalt draws a salt.
func newSalt(rand io.Reader) (record.Salt, error) {
	var b [8]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return 0, fmt.Errorf("draw a salt: %w", err)
	}
	return record.Salt(binary.LittleEndian.Uint64(b[:])), nil
}

const zeroChunk = 1 << 20

// zeroes is what files are filled with; it is never written to.
var zeroes = make([]byte, zeroChunk)

// zeroFill overwrites a range with zeros and syncs it, in steps that do not hold up other syncs for long.
func zeroFill(f disk.File, from, to int64) error {
	const syncEvery = 2 << 20
	unsynced := int64(0)
	for from < to {
		n := min(to-from, zeroChunk)
		if _, err := f.WriteAt(zeroes[:n], from); err != nil {
			return err
		}
		from += n
		unsynced += n
		if unsynced >= syncEvery {
			if err := f.Sync(); err != nil {
				return err
			}
			unsynced = 0
		}
	}
	if unsynced == 0 {
		return nil
	}
	return f.Sync()
}

func (f *dataFile) info() FileInfo {
	return FileInfo{
		Number: f.number(),
		Size:   f.end.Load(),
		Disk:   f.capacity,
		Sealed: f.sealed.Load(),
		Merged: f.header.Kind == record.Merged,
		Salt:   uint64(f.header.Salt),
	}
}
