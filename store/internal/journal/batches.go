package journal

import (
	"fmt"

	"github.com/dabba-mq/dabba/store/internal/record"
)

// placed is a record with its place.
type placed struct {
	offset uint32
	record.Record
}

// batchReader reads the batches of a data file one after the other.
type batchReader struct {
	f *dataFile
	w window
	// at is the offset of the next batch.
	at int64
	// floor is what the next LSN in a journal file must not be below.
	floor LSN
	// records are those of the last batch.
	records []placed
}

func newBatchReader(f *dataFile, at int64, floor LSN) *batchReader {
	return &batchReader{f: f, w: window{f: f, end: f.capacity}, at: at, floor: floor}
}

// next reads and checks a whole batch, and moves on behind it. Its records are valid until the next call. The error
// wraps [record.ErrInvalid] when there is no batch, or not all of it; then nothing has moved.
func (b *batchReader) next() (record.BatchHeader, error) {
	head, err := b.w.bytes(b.at, record.BatchHeaderSize)
	if err != nil {
		return record.BatchHeader{}, b.readError(err)
	}
	h, err := record.ParseBatchHeader(head, b.f.header.Salt, b.f.number(), uint32(b.at))
	if err != nil {
		return record.BatchHeader{}, err
	}
	chain := b.f.header.Kind == record.Journal
	if chain && h.First < b.floor {
		return record.BatchHeader{}, fmt.Errorf("batch: LSN %d where %d or more should be: %w", h.First, b.floor,
			record.ErrInvalid)
	}
	whole, err := b.w.bytes(b.at, record.BatchHeaderSize+int(h.Length))
	if err != nil {
		return record.BatchHeader{}, b.readError(err)
	}
	b.records = b.records[:0]
	err = record.Walk(whole, h, b.f.header.Salt, uint32(b.at), func(offset uint32, r record.Record) error {
		if want := h.First + LSN(len(b.records)); chain && r.LSN != want {
			return fmt.Errorf("record: LSN %d where %d should be: %w", r.LSN, want, record.ErrInvalid)
		}
		b.records = append(b.records, placed{offset, r})
		return nil
	})
	if err != nil {
		return record.BatchHeader{}, err
	}
	b.at += h.Size()
	b.floor = h.Last() + 1
	return h, nil
}

func (b *batchReader) readError(err error) error {
	return fmt.Errorf("read %s at %d: %w", fileName(b.f.number()), b.at, err)
}

// survey is what lies in a file from an offset on at which no batch could be read.
type survey struct {
	// written is where what was written after the offset ends; the offset itself if nothing was, as far as one can tell.
	written int64
	// highest is the highest LSN that a batch header there speaks of.
	highest LSN
	// acknowledged says that a later batch states that what should be at the offset had been synced.
	acknowledged bool
}

// look surveys the rest of the file.
func (b *batchReader) look() (survey, error) {
	s := survey{written: b.at}
	for at := b.at; at < b.w.end; at += record.BlockSize {
		block, err := b.w.bytes(at, record.BlockSize)
		if err != nil {
			return s, b.readError(err)
		}
		h, err := record.ParseBatchHeader(block, b.f.header.Salt, b.f.number(), uint32(at))
		if err == nil {
			s.written = max(s.written, min(at+h.Size(), b.w.end))
			s.highest = max(s.highest, h.Last())
			s.acknowledged = s.acknowledged || (at > b.at && h.Synced >= b.floor)
			continue
		}
		// In a recycled file other bytes tell nothing: an earlier use may have left them.
		if record.Resembles(block, b.f.header.Salt, b.f.number(), uint32(at)) || !b.f.header.Recycled && !allZero(block) {
			s.written = max(s.written, at+record.BlockSize)
		}
	}
	return s, nil
}

func allZero(b []byte) bool { return string(b) == string(zeroes[:len(b)]) }
