package record

import (
	"bytes"
	"errors"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

func FuzzParseFileHeader(f *testing.F) {
	f.Add(FileHeader{Kind: Merged, Number: 1, Salt: salt}.Block())
	f.Add([]byte(fileMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseFileHeader(b)
		switch {
		case errors.Is(err, ErrInvalid), errors.Is(err, store.ErrVersion):
		case err != nil:
			t.Errorf("ParseFileHeader = %v, want one of its errors", err)
		case h.Kind != Journal && h.Kind != Merged:
			t.Errorf("ParseFileHeader = %+v", h)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(encode("payload", 5, true, 4160), uint32(4160))
	f.Add(make([]byte, HeaderSize), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, offset uint32) {
		r, err := Parse(b, salt, offset)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("Parse = %v, want ErrInvalid", err)
			}
			return
		}
		again := make([]byte, r.Size())
		copy(again[HeaderSize:], r.Payload)
		Seal(again, r.Type, r.Version, r.Object)
		copy(again[10:16], b[10:16]) // reserved
		Stamp(again, r.LSN, r.Last, salt, offset)
		if !bytes.Equal(again, b[:r.Size()]) {
			t.Errorf("encoded again: %x, want %x", again, b[:r.Size()])
		}
	})
}

func FuzzWalk(f *testing.F) {
	f.Add(encodeBatch(4096, 9, "a", "bc"), uint32(4096))
	f.Add(encodeBatch(8192, 9), uint32(8192))
	f.Fuzz(func(t *testing.T, b []byte, offset uint32) {
		h, err := ParseBatchHeader(b, salt, 7, offset)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("ParseBatchHeader = %v, want ErrInvalid", err)
			}
			// The records must be safe to walk whatever the header says.
			h = BatchHeader{Length: uint32(len(b)), Count: offset}
		}
		bytes := 0
		err = Walk(b, h, salt, offset, func(_ uint32, r Record) error {
			bytes += r.Size()
			return nil
		})
		if bytes > len(b) || (err != nil && !errors.Is(err, ErrInvalid)) {
			t.Errorf("Walk gave %d bytes of %d, %v", bytes, len(b), err)
		}
	})
}
