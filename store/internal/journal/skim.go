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

	file *dataFile
}

// Skim is like [Journal.Walk], but reads only the beginning of long records, so that what is of no interest in them
// costs nothing.
func (j *Journal) Skim(from Position, fn func(s Skimmed) (more bool, err error)) error {
	f, done, err := j.borrow(from.File)
	if err != nil {
		return err
	}
	defer done()
	return f.walk(from.Offset, skimWhole, fn)
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
