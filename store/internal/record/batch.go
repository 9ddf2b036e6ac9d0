package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	// BatchHeaderSize is the number of bytes before the first record of a batch.
	BatchHeaderSize = 64
	// MaxBatch is the size batches are split at. A single longer record has a batch of its own.
	MaxBatch = 4 << 20

	batchMagic = 0xDABBA7C4
	flagSeal   = 1
)

// maxLength is the longest a batch's records can be: one record of the greatest size.
const maxLength = HeaderSize + MaxPayload

// BatchHeader describes one batch.
type BatchHeader struct {
	// Length is the number of bytes from the first record to the end of the last.
	Length uint32
	Count  uint32
	// First is the LSN of the first record, or of the next to come if there is none.
	First LSN
	// Synced is the LSN up to which everything was synced when the batch was put together.
	Synced LSN
	// Seal says that the file ends with this batch; the file numbered Next follows.
	Seal bool
	Next uint32
}

// Size is the number of bytes the batch takes in the file: a multiple of [BlockSize].
func (h BatchHeader) Size() int64 { return Blocks(BatchHeaderSize + int64(h.Length)) }

// Last is the LSN of the last record, or First-1 if there is none.
func (h BatchHeader) Last() LSN { return h.First + LSN(h.Count) - 1 }

// Blocks rounds up to a multiple of [BlockSize].
func Blocks(n int64) int64 { return (n + BlockSize - 1) &^ (BlockSize - 1) }

// PutBatchHeader writes the header of a batch that lies at offset in the file into the first 64 bytes of b.
func PutBatchHeader(b []byte, h BatchHeader, salt Salt, file, offset uint32) {
	b = b[:BatchHeaderSize]
	clear(b)
	binary.LittleEndian.PutUint32(b[0:], batchMagic)
	binary.LittleEndian.PutUint32(b[4:], h.Length)
	binary.LittleEndian.PutUint32(b[8:], h.Count)
	if h.Seal {
		binary.LittleEndian.PutUint32(b[12:], flagSeal)
	}
	binary.LittleEndian.PutUint64(b[16:], uint64(h.First))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.Synced))
	binary.LittleEndian.PutUint32(b[32:], file)
	binary.LittleEndian.PutUint32(b[36:], offset/BlockSize)
	binary.LittleEndian.PutUint32(b[40:], h.Next)
	binary.LittleEndian.PutUint64(b[44:], uint64(salt))
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
}

// ParseBatchHeader reads the header of the batch at offset in the file. The error wraps [ErrInvalid] unless the bytes
// were written there, as such, in this use of this file.
func ParseBatchHeader(b []byte, salt Salt, file, offset uint32) (BatchHeader, error) {
	if !IsBatch(b) {
		return BatchHeader{}, fmt.Errorf("batch header: no magic: %w", ErrInvalid)
	}
	if crc32.Checksum(b[:60], castagnoli) != binary.LittleEndian.Uint32(b[60:]) {
		return BatchHeader{}, fmt.Errorf("batch header: checksum: %w", ErrInvalid)
	}
	if Salt(binary.LittleEndian.Uint64(b[44:])) != salt || binary.LittleEndian.Uint32(b[32:]) != file ||
		binary.LittleEndian.Uint32(b[36:]) != offset/BlockSize || offset%BlockSize != 0 {
		return BatchHeader{}, fmt.Errorf("batch header: written for another place or time: %w", ErrInvalid)
	}
	h := BatchHeader{
		Length: binary.LittleEndian.Uint32(b[4:]),
		Count:  binary.LittleEndian.Uint32(b[8:]),
		Seal:   binary.LittleEndian.Uint32(b[12:])&flagSeal != 0,
		First:  LSN(binary.LittleEndian.Uint64(b[16:])),
		Synced: LSN(binary.LittleEndian.Uint64(b[24:])),
		Next:   binary.LittleEndian.Uint32(b[40:]),
	}
	if h.Length > maxLength || int64(h.Count)*HeaderSize > int64(h.Length) {
		return BatchHeader{}, fmt.Errorf("batch header: %d records in %d bytes: %w", h.Count, h.Length, ErrInvalid)
	}
	return h, nil
}

// Resembles says whether b, which is no valid batch header, may have been one for this place in this use of the file
// before it was damaged. What an earlier use of the file left behind does not pass.
func Resembles(b []byte, salt Salt, file, offset uint32) bool {
	if Salt(binary.LittleEndian.Uint64(b[44:])) == salt {
		return true
	}
	return IsBatch(b) && binary.LittleEndian.Uint32(b[32:]) == file && binary.LittleEndian.Uint32(b[36:]) == offset/BlockSize
}

// IsBatch says whether b looks like the start of a batch and not of a record.
func IsBatch(b []byte) bool {
	return len(b) >= BatchHeaderSize && binary.LittleEndian.Uint32(b) == batchMagic
}
