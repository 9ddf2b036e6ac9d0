package journal

import (
	"errors"
	"slices"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Scanned is what a [Scan] found besides records.
type Scanned struct {
	FileInfo
	Records int64
	// Next is the file that the seal names.
	Next uint32
	// Torn is the number of bytes after the last batch that were written but are no batch.
	Torn int64
}

// Scan reads and checks a whole data file and calls fn for each record in order; size is what the record takes. The
// payload is valid only during the call. It changes nothing. An error of fn ends the scan with it. Other errors are
// those of [Open]; a file that was never finished has a torn end at most, which is no error.
func Scan(fs disk.FS, dir string, file uint32, fn func(lsn LSN, pos Position, size uint32, r record.Record) error) (_ Scanned, err error) {
	f, err := openNeeded(fs, dir, file)
	if err != nil {
		return Scanned{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := newBatchReader(f, firstBatch, f.header.Floor)
	result := Scanned{FileInfo: f.info()}
	for {
		h, err := b.next()
		result.Size = b.at
		switch {
		case errors.Is(err, record.ErrInvalid):
			return result, result.finish(b, err)
		case err != nil:
			return result, err
		case h.Seal:
			result.Sealed, result.Next = true, h.Next
			return result, nil
		}
		for _, p := range b.records {
			result.Records++
			if err := fn(p.LSN, Position{file, p.offset}, uint32(p.Size()), p.Record); err != nil {
				return result, err
			}
		}
	}
}

// finish judges the end of a file without a seal.
func (s *Scanned) finish(b *batchReader, why error) error {
	rest, err := b.look()
	switch {
	case err != nil:
		return err
	case rest.acknowledged, b.f.header.Kind == record.Merged:
		return b.f.corrupt(b.at, why)
	}
	s.Torn = rest.written - b.at
	return nil
}

// List returns the numbers of the data files in a directory, in order.
func List(fs disk.FS, dir string) ([]uint32, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, name := range names {
		if number, ok := fileNumber(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
