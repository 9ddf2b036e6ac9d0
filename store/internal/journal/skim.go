package journal

import "github.com/dabba-mq/dabba/store/internal/record"

// skimWhole is the longest payload that Skim reads whole: with the header, what a window reads at first.
const skimWhole = minStep - record.HeaderSize

// Skimmed is a record as [Journal.Skim] meets it. It is valid only during the call.
type Skimmed struct {
	record.Record
	Position
	// Whole says that the record was read and checked whole. Otherwise it has a payload of about 16 KiB or more, of which
	// only the beginning was read, and nothing checked: the caller has its own means to check what it uses.
	Whole bool
	// Length is what the record takes, with its header.
	Length int

	file *dataFile
}

// Skim is like [Journal.Walk], but reads only the beginning of long records, so that what is of no interest in them
// costs nothing, and goes on behind a damaged record, where something intact begins again: whoever looks for a message
// must not lose it to the damage of another. The damage is returned when the file ends.
func (j *Journal) Skim(from Position, fn func(s Skimmed) (more bool, err error)) error {
	f, done, err := j.borrow(from.File)
	if err != nil {
		return err
	}
	defer done()
	return f.walk(from.Offset, skimWhole, true, fn)
}

// ReadPart fills buf from the payload, beginning at byte at. It checks nothing.
func (s Skimmed) ReadPart(buf []byte, at int) error {
	got, err := s.file.readSome(buf, s.Offset+record.HeaderSize+uint32(at))
	if err == nil && len(got) < len(buf) {
		err = s.file.corrupt(int64(s.Offset), record.ErrInvalid)
	}
	return err
}

// ReadWhole reads and checks all of the record.
func (s Skimmed) ReadWhole() (record.Record, error) { return s.file.read(s.Offset, nil) }

// past returns where something intact begins behind a damaged record at this offset: the record after it, if its length
// can be believed, or the next batch.
func (f *dataFile) past(w *window, at int64) (int64, bool) {
	if head, err := w.bytes(at, record.HeaderSize); err == nil {
		if n, err := record.Length(head); err == nil {
			if next := record.Align(at + int64(n)); next < w.end {
				if _, _, err := f.recordAt(w, next, record.MaxPayload); err == nil {
					return next, true
				}
			}
		}
	}
	for at = record.Blocks(at + 1); at < w.end; at += record.BlockSize {
		if next, err := f.nextBatch(w, at); err == nil {
			return next, true
		}
	}
	return 0, false
}
