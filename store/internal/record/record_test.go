package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

const salt = Salt(0x1122334455667788)

// encode builds a record as the journal does.
func encode(payload string, lsn LSN, last bool, offset uint32) []byte {
	b := make([]byte, HeaderSize+len(payload))
	copy(b[HeaderSize:], payload)
	Seal(b, 3, 1, 99)
	Stamp(b, lsn, last, salt, offset)
	return b
}

// encodeBatch builds a batch at offset in file 7.
func encodeBatch(offset uint32, first LSN, payloads ...string) []byte {
	b := make([]byte, BatchHeaderSize)
	end := len(b)
	for i, p := range payloads {
		b = append(b, make([]byte, Align(len(b))-len(b))...)
		b = append(b, encode(p, first+LSN(i), i == len(payloads)-1, offset+uint32(len(b)))...)
		end = len(b)
	}
	PutBatchHeader(b, BatchHeader{
		Length: uint32(end - BatchHeaderSize),
		Count:  uint32(len(payloads)),
		First:  first,
		Synced: first - 1,
	}, salt, 7, offset)
	return append(b, make([]byte, int(Blocks(int64(end)))-end)...)
}

func TestFileHeader(t *testing.T) {
	t.Parallel()
	want := FileHeader{Kind: Journal, Recycled: true, Number: 7, Floor: 1 << 40, Salt: salt, Size: 128 << 20}
	block := want.Block()
	if len(block) != BlockSize {
		t.Fatalf("block of %d bytes", len(block))
	}
	got, err := ParseFileHeader(block)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ParseFileHeader = %v, %s", err, diff)
	}
	everyFlip(t, block[:usedHeader], func(b []byte) error { _, err := ParseFileHeader(b); return err })
	binary.LittleEndian.PutUint16(block[8:], FormatVersion+1)
	binary.LittleEndian.PutUint32(block[60:], crc32.Checksum(block[:60], castagnoli))
	if _, err := ParseFileHeader(block); !errors.Is(err, store.ErrVersion) {
		t.Errorf("ParseFileHeader of the next version = %v, want store.ErrVersion", err)
	}
}

// everyFlip flips each bit in turn and wants the bytes refused.
func everyFlip(t *testing.T, b []byte, parse func([]byte) error) {
	t.Helper()
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if err := parse(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("bit %d flipped: %v, want ErrInvalid", bit, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	if err := parse(b); err != nil {
		t.Errorf("nothing flipped: %v", err)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", "x", "a longer payload"} {
		b := encode(payload, 42, true, 8192)
		got, err := Parse(append(b, "what follows"...), salt, 8192)
		want := Record{LSN: 42, Type: 3, Version: 1, Object: 99, Payload: []byte(payload), Last: true}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Parse = %v, %s", err, diff)
		}
		everyFlip(t, b, func(b []byte) error { _, err := Parse(b, salt, 8192); return err })
		if _, err := Parse(b, salt+1, 8192); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse with another salt = %v, want ErrInvalid", err)
		}
		if _, err := Parse(b, salt, 8200); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse at another place = %v, want ErrInvalid", err)
		}
		for n := range b {
			if _, err := Parse(b[:n], salt, 8192); !errors.Is(err, ErrInvalid) {
				t.Errorf("Parse of %d of %d bytes = %v, want ErrInvalid", n, len(b), err)
			}
		}
	}
}

func TestLengthIsCheckedBeforeUse(t *testing.T) {
	t.Parallel()
	b := encode("", 1, false, 0)
	binary.LittleEndian.PutUint32(b, MaxPayload+1)
	if n, err := Length(b); !errors.Is(err, ErrInvalid) {
		t.Errorf("Length = %d, %v, want ErrInvalid", n, err)
	}
	if IsBatch(append(b, make([]byte, BatchHeaderSize)...)) {
		t.Error("a record passes for a batch")
	}
	if n := uint32(batchMagic) &^ lastBit; n <= MaxPayload {
		t.Errorf("the magic of a batch is a possible first word of a record: length %d", n)
	}
}

func TestSealPanicsOnMisuse(t *testing.T) {
	t.Parallel()
	for name, seal := range map[string]func(){
		"type 0":    func() { Seal(make([]byte, HeaderSize), 0, 1, 0) },
		"no header": func() { Seal(make([]byte, HeaderSize-1), 1, 1, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Seal did not panic", name)
				}
			}()
			seal()
		}()
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	b := encodeBatch(12288, 100, "one", "", "three is longer")
	h, err := ParseBatchHeader(b, salt, 7, 12288)
	if err != nil {
		t.Fatal(err)
	}
	if h.Size() != int64(len(b)) || h.Last() != 102 || h.Synced != 99 {
		t.Errorf("header %+v, size %d, last %d", h, h.Size(), h.Last())
	}
	walk := func(b []byte) (got []string, err error) {
		err = Walk(b, h, salt, 12288, func(_ uint32, r Record) error {
			got = append(got, string(r.Payload))
			return nil
		})
		return got, err
	}
	got, err := walk(b)
	if diff := cmp.Diff([]string{"one", "", "three is longer"}, got); diff != "" || err != nil {
		t.Errorf("Walk = %v, %s", err, diff)
	}
	everyFlip(t, b[:BatchHeaderSize], func(b []byte) error {
		_, err := ParseBatchHeader(b, salt, 7, 12288)
		return err
	})
	for name, parse := range map[string]func() (BatchHeader, error){
		"another salt":  func() (BatchHeader, error) { return ParseBatchHeader(b, salt+1, 7, 12288) },
		"another file":  func() (BatchHeader, error) { return ParseBatchHeader(b, salt, 8, 12288) },
		"another place": func() (BatchHeader, error) { return ParseBatchHeader(b, salt, 7, 16384) },
	} {
		if _, err := parse(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	for n := BatchHeaderSize; n < BatchHeaderSize+int(h.Length); n++ {
		if _, err := walk(b[:n]); !errors.Is(err, ErrInvalid) {
			t.Errorf("Walk over %d bytes = %v, want ErrInvalid", n, err)
		}
	}
	for _, wrong := range []BatchHeader{
		{Length: h.Length, Count: h.Count - 1},
		{Length: h.Length, Count: h.Count + 1},
		{Length: h.Length - 8, Count: h.Count},
		{Length: h.Length + 8, Count: h.Count},
	} {
		err := Walk(b, wrong, salt, 12288, func(uint32, Record) error { return nil })
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("Walk with header %+v = %v, want ErrInvalid", wrong, err)
		}
	}
}
