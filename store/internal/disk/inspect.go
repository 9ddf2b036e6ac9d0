package disk

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// tooFast is less than any device with a durable cache needs for a sync.
const tooFast = 15 * time.Microsecond

// Inspect looks at the disk beneath dir, which must exist, and returns warnings for people: file systems that do not
// keep what was synced or are not known to, and syncs that are too fast to be real. It writes a small file to dir and
// removes it. now is the clock to measure with.
func Inspect(dir string, now func() time.Time) []string {
	var warnings []string
	switch kind, err := probe(dir); {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		warnings = append(warnings, fmt.Sprintf("cannot tell what kind of file system %s is on: %v", dir, err))
	case kind != "":
		warnings = append(warnings, fmt.Sprintf("%s is on %s", dir, kind))
	}
	median, err := probeSyncs(dir, now)
	switch {
	case err != nil:
		warnings = append(warnings, fmt.Sprintf("cannot try syncs in %s: %v", dir, err))
	case median < tooFast:
		warnings = append(warnings, fmt.Sprintf("a sync in %s takes %v, which is too fast to be real: "+
			"power loss may take acknowledged messages; use a disk that honors fdatasync", dir, median))
	}
	return warnings
}

// probeSyncs returns the median time of 20 syncs of one written block.
func probeSyncs(dir string, now func() time.Time) (median time.Duration, err error) {
	f, err := os.CreateTemp(dir, "probe-*.tmp")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 4096)
	var took []time.Duration
	for i := range 21 {
		block[0] = byte(i)
		if _, err := f.WriteAt(block, 0); err != nil {
			return 0, err
		}
		start := now()
		if err := datasync(f); err != nil {
			return 0, err
		}
		took = append(took, now().Sub(start))
	}
	took = took[1:] // the first one allocates the block
	slices.Sort(took)
	return took[len(took)/2], nil
}
