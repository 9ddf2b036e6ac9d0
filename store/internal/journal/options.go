package journal

import (
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// LSN numbers records, see [record.LSN].
type LSN = record.LSN

// Position is the place of a record's header in a data file.
type Position struct {
	File   uint32
	Offset uint32
}

func (p Position) String() string { return fmt.Sprintf("%s at %d", fileName(p.File), p.Offset) }

// SyncMode says when written records are synced.
type SyncMode uint8

const (
	// Always syncs each batch before anyone in it is released.
	Always SyncMode = iota
	// Interval releases after the write and syncs at a fixed interval: power loss may take what came since.
	Interval
	// None releases after the write and syncs only when a file is full, on [Journal.Sync] and on Close.
	None
)

const (
	// MinFileSize is the smallest size of a data file: a header, a batch and a seal.
	MinFileSize = 4 * record.BlockSize
	// maxFileSize keeps every offset within 32 bits.
	maxFileSize = math.MaxUint32 + 1 - record.BlockSize

	defaultFileSize = 128 << 20
	defaultInterval = time.Second

	// maxWaiting is how many bytes may wait for the committer.
	maxWaiting = 64 << 20
	// Records nobody waits for go out after this time or at this size.
	lazyAfter = 20 * time.Millisecond
	lazyBytes = 64 << 10
	// lsnGap is left free at each start, so that an LSN that was given out but never got to disk is not used again.
	lsnGap = 1 << 20
)

// Options configure a journal. FS and Dir are required.
type Options struct {
	FS  disk.FS
	Dir string
	// Rand is where salts come from; nil means crypto/rand.
	Rand io.Reader
	// Now measures how long writes and syncs take, for Events; nil means time.Now.
	Now func() time.Time

	// FileSize is the size of data files, a multiple of 4096; 0 means 128 MiB. A record that does not fit gets a larger
	// file.
	FileSize int64
	Sync     SyncMode
	// Interval is the time between syncs in that mode; 0 means a second.
	Interval time.Duration
	// Quarantine lets Open cut off damaged data in the chain of files although it had been acknowledged, and all that
	// follows it, keeping copies, instead of refusing. When the file that Start names was itself set aside, the journal
	// continues in a new one: the manifest must be written anew from [Journal.Mark] before anything is acknowledged.
	Quarantine bool

	// Placed is called in LSN order for each record once it was written to its place and before it is published as
	// durable. The payload may be kept only during the call. It runs on the committer, so it must be quick.
	Placed func(lsn LSN, pos Position, size uint32, r record.Record)
	// Durable is called after each publication with the highest durable LSN. It must not block.
	Durable func(LSN)
	// Sealed is called when a data file is full and will not change any more; size is where its content ends. It must
	// not block.
	Sealed func(file uint32, size int64)
	// Failed is called once when the journal has failed for good, after all waiters were released.
	Failed func(error)
	Events Events
}

// Events are told what happens, for logs and metrics. Each may be nil; none may block.
type Events struct {
	// Wrote is called for each batch that was written.
	Wrote func(Wrote)
	// Rolled is called when the journal goes on in another file.
	Rolled func(from, to uint32)
	// PrepareFailed is called each time the next file cannot be made ready. It is tried again.
	PrepareFailed func(error)
	// Cut is called during Open when the end of a file was cut off.
	Cut func(Cut)
	// Removed is called during Open for each data file that was there but not needed.
	Removed func(name string)
}

// Wrote describes one batch.
type Wrote struct {
	Records int
	// Bytes is what it took in the file, with padding.
	Bytes int64
	Write time.Duration
	// Sync is 0 when the batch was not synced by itself.
	Sync time.Duration
}

// Cut describes an end of a file that was cut off, or a whole file that was set aside.
type Cut struct {
	File   uint32
	Offset int64
	// Bytes is 0 for a whole file.
	Bytes int64
	// Acknowledged says that it was no torn write but damage, cut off because Options.Quarantine was set.
	Acknowledged bool
	// Copy is the name of the file that holds what was there; empty if it could not be made, which Err then explains.
	Copy string
	Err  error
	// Why says what was wrong with the batch at Offset.
	Why error
}

// Start is what the store's manifest says about the journal. The zero Start makes a new one.
type Start struct {
	// File and Offset are where replay begins: the place of a batch, or the end of the batches. Offset 0 means the
	// first batch.
	File   uint32
	Offset uint32
	// After is an LSN that all records from there on are above, and that was the highest one before.
	After LSN
	// Sealed are the other files that hold something live. One that is missing is passed over: what is left decides whether
	// it was needed, see [Journal.Files].
	Sealed []uint32
}

func (o *Options) fill() error {
	if o.FileSize == 0 {
		o.FileSize = defaultFileSize
	}
	if o.FileSize < MinFileSize || o.FileSize > maxFileSize || o.FileSize%record.BlockSize != 0 {
		return fmt.Errorf("journal: file size %d: it must be a multiple of %d from %d to %d", o.FileSize, record.BlockSize,
			MinFileSize, int64(maxFileSize))
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}
