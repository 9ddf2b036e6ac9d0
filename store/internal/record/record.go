package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	// HeaderSize is the number of bytes before a record's payload.
	HeaderSize = 32
	// MaxPayload is the greatest length of a payload.
	MaxPayload = 80 << 20

	lastBit = 1 << 31
)

// Record is one entry of the journal.
type Record struct {
	LSN LSN
	// Type says what the record is; never 0. Version is that of the payload's encoding.
	Type, Version uint8
	// Object is the queue generation the record is about, or 0.
	Object  uint64
	Payload []byte
	// Last says that the record ends its batch.
	Last bool
}

// Size is the number of bytes the record takes, without the gap after it.
func (r Record) Size() int { return HeaderSize + len(r.Payload) }

// Align rounds up to the next place a record may start at.
func Align[T ~int | ~int64 | ~uint32](n T) T { return (n + 7) &^ 7 }

// Seal fills in the header of a record whose payload begins at b[HeaderSize] and ends with b. What depends on the
// record's place is added by [Stamp]. It panics when typ is 0 or the payload is longer than [MaxPayload].
func Seal(b []byte, typ, version uint8, object uint64) {
	n := len(b) - HeaderSize
	if typ == 0 || n < 0 || n > MaxPayload {
		panic(fmt.Sprintf("record: seal type %d with a payload of %d bytes", typ, n))
	}
	clear(b[:HeaderSize])
	binary.LittleEndian.PutUint32(b, uint32(n))
	b[8], b[9] = typ, version
	binary.LittleEndian.PutUint64(b[16:], object)
}

// Stamp adds to a sealed record what is known once its place is: LSN, whether it ends its batch, and the checksum.
func Stamp(b []byte, lsn LSN, last bool, salt Salt, offset uint32) {
	n := binary.LittleEndian.Uint32(b) &^ lastBit
	if last {
		n |= lastBit
	}
	binary.LittleEndian.PutUint32(b, n)
	binary.LittleEndian.PutUint64(b[24:], uint64(lsn))
	binary.LittleEndian.PutUint32(b[4:], checksum(b, salt, offset))
}

// Peek reads the fields of a sealed record without checking its sum. The payload aliases b.
func Peek(b []byte) Record {
	return Record{
		LSN:     LSN(binary.LittleEndian.Uint64(b[24:])),
		Type:    b[8],
		Version: b[9],
		Object:  binary.LittleEndian.Uint64(b[16:]),
		Payload: b[HeaderSize:],
		Last:    b[3]&0x80 != 0,
	}
}

// Length reads how long the record that starts at b is, header and payload. It needs [HeaderSize] bytes. The error
// wraps [ErrInvalid].
func Length(b []byte) (int, error) {
	if len(b) < HeaderSize {
		return 0, fmt.Errorf("record: %d bytes are less than a header: %w", len(b), ErrInvalid)
	}
	n := binary.LittleEndian.Uint32(b) &^ lastBit
	if n > MaxPayload || b[8] == 0 {
		return 0, fmt.Errorf("record: type %d, length %d: %w", b[8], n, ErrInvalid)
	}
	return HeaderSize + int(n), nil
}

// Parse reads the record that starts at b and lies at offset in the file. Its payload aliases b. The error wraps
// [ErrInvalid].
func Parse(b []byte, salt Salt, offset uint32) (Record, error) {
	n, err := Length(b)
	if err != nil {
		return Record{}, err
	}
	if n > len(b) {
		return Record{}, fmt.Errorf("record: %d bytes where %d should be: %w", len(b), n, ErrInvalid)
	}
	b = b[:n:n]
	if checksum(b, salt, offset) != binary.LittleEndian.Uint32(b[4:]) {
		return Record{}, fmt.Errorf("record: checksum: %w", ErrInvalid)
	}
	return Peek(b), nil
}

// checksum covers the whole record except the sum itself, and its place.
func checksum(b []byte, salt Salt, offset uint32) uint32 {
	var head [8 + 4 + 4 + HeaderSize - 8]byte
	binary.LittleEndian.PutUint64(head[0:], uint64(salt))
	binary.LittleEndian.PutUint32(head[8:], offset)
	copy(head[12:], b[:4])
	copy(head[16:], b[8:HeaderSize])
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, b[HeaderSize:])
}
