package record

import "fmt"

// Walk reads the records of a batch that lies at offset in the file; b holds the whole batch. It checks every byte
// that means something: fn is called for each record, with its place, before the ones after it are checked. The error
// wraps [ErrInvalid], or is that of fn.
func Walk(b []byte, h BatchHeader, salt Salt, offset uint32, fn func(offset uint32, r Record) error) error {
	end := BatchHeaderSize + int(h.Length)
	if end > len(b) {
		return fmt.Errorf("batch: %d bytes where %d should be: %w", len(b), end, ErrInvalid)
	}
	at := BatchHeaderSize
	for i := range h.Count {
		if at >= end {
			return fmt.Errorf("batch: ends before record %d of %d: %w", i+1, h.Count, ErrInvalid)
		}
		r, err := Parse(b[at:end], salt, offset+uint32(at))
		if err != nil {
			return fmt.Errorf("batch: record %d of %d: %w", i+1, h.Count, err)
		}
		if r.Last != (i+1 == h.Count) {
			return fmt.Errorf("batch: record %d of %d is marked wrongly as the last or not: %w", i+1, h.Count, ErrInvalid)
		}
		if err := fn(offset+uint32(at), r); err != nil {
			return err
		}
		at += r.Size()
		if !r.Last {
			at = Align(at)
		}
	}
	if at != end {
		return fmt.Errorf("batch: records end at %d and not at %d: %w", at, end, ErrInvalid)
	}
	return nil
}
