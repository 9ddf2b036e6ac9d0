package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/dabba-mq/dabba/store"
)

// BlockSize is the grid batches lie on, and the size of a file header.
const BlockSize = 4096

// FormatVersion is the version this package reads and writes.
const FormatVersion = 1

// ErrInvalid says that bytes are not what they should be. Whether that is damage or just the end of what was written
// is for the reader of the file to tell.
var ErrInvalid = errors.New("not valid")

// Salt is a random number that belongs to one use of one file and is part of every checksum in it.
type Salt uint64

// LSN numbers the records of a journal, from 1, in the order they were appended; never used twice.
type LSN uint64

// Kind says how a file came about.
type Kind uint8

const (
	// Journal files are written by group commit and follow one another.
	Journal Kind = 1
	// Merged files hold copies of records whose own files were given up.
	Merged Kind = 2
)

const (
	fileMagic    = "DABBAJNL"
	flagRecycled = 1
	usedHeader   = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FileHeader is the first block of a data file.
type FileHeader struct {
	Kind     Kind
	Recycled bool
	Number   uint32
	// Floor is the LSN that no record of a journal file is below.
	Floor LSN
	Salt  Salt
	// Size is what the file measured at least when the header was written, 0 if that was not known.
	Size int64
}

// Block returns the header as the 4 KiB it takes in the file.
func (h FileHeader) Block() []byte {
	b := make([]byte, BlockSize)
	copy(b, fileMagic)
	binary.LittleEndian.PutUint16(b[8:], FormatVersion)
	b[10] = byte(h.Kind)
	if h.Recycled {
		b[11] = flagRecycled
	}
	binary.LittleEndian.PutUint32(b[12:], h.Number)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.Floor))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.Salt))
	binary.LittleEndian.PutUint64(b[32:], uint64(h.Size))
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

// ParseFileHeader reads a file header. The error wraps [ErrInvalid], or [store.ErrVersion] for an intact header of
// another format version.
func ParseFileHeader(b []byte) (FileHeader, error) {
	if len(b) < usedHeader || string(b[:8]) != fileMagic {
		return FileHeader{}, fmt.Errorf("file header: no magic: %w", ErrInvalid)
	}
	if crc32.Checksum(b[:60], castagnoli) != binary.LittleEndian.Uint32(b[60:]) {
		return FileHeader{}, fmt.Errorf("file header: checksum: %w", ErrInvalid)
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != FormatVersion {
		return FileHeader{}, fmt.Errorf("file header: %w: the file has format %d and this program reads format %d; "+
			"start the program that wrote it, or use another data folder", store.ErrVersion, v, FormatVersion)
	}
	h := FileHeader{
		Kind:     Kind(b[10]),
		Recycled: b[11]&flagRecycled != 0,
		Number:   binary.LittleEndian.Uint32(b[12:]),
		Floor:    LSN(binary.LittleEndian.Uint64(b[16:])),
		Salt:     Salt(binary.LittleEndian.Uint64(b[24:])),
		Size:     int64(binary.LittleEndian.Uint64(b[32:])),
	}
	if (h.Kind != Journal && h.Kind != Merged) || h.Size < 0 {
		return FileHeader{}, fmt.Errorf("file header: kind %d, size %d: %w", h.Kind, h.Size, ErrInvalid)
	}
	return h, nil
}
