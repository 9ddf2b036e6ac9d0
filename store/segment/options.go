package segment

import (
	"io"
	"time"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
)

// SyncMode says when an acknowledged change is synced to disk.
type SyncMode uint8

const (
	// SyncAlways syncs before it acknowledges: nothing acknowledged is lost by kill -9 or power loss. The default.
	SyncAlways SyncMode = iota
	// SyncInterval acknowledges after the write and syncs every Options.Interval: power loss may take what came since.
	SyncInterval
	// SyncNone leaves syncing to the operating system, except when a file is full and on Close.
	SyncNone
)

// Options configure a Store. Dir and Now are required.
type Options struct {
	// Dir is the data folder; it is made if it is absent.
	Dir string
	// Now is the clock; its monotonic reading, if it has one, drives queue time.
	Now func() time.Time
	// Rand is where salts come from; nil means crypto/rand.
	Rand io.Reader
	// Sync and Interval (default 1 s) choose when to sync.
	Sync     SyncMode
	Interval time.Duration
	// FileSize is the size of journal files, a multiple of 4096; 0 means 128 MiB.
	FileSize int64
	// Quarantine lets Open cut off damaged data that had been acknowledged, keeping a copy, instead of refusing.
	Quarantine bool
	Events     Events

	// fs is the file system; nil means the operating system's. Tests set it through the conformance harness.
	fs disk.FS
}

// Events are told what happens, for logs and metrics. Each may be nil; none may block.
type Events struct {
	// Wrote is called for each batch: its records, its bytes on disk, how long writing and syncing took.
	Wrote func(records int, bytes int64, write, sync time.Duration)
	// Warning is called with a sentence for a person: an unreliable disk, a torn end that was cut off, trouble with
	// reclaiming space.
	Warning func(string)
	// Damaged is called when a stored message cannot be read; it is set aside as dead.
	Damaged func(error)
	// Failed is called once when the store can write no more: the process should end.
	Failed func(error)
	// Checkpoint, Merged, Recycled and Rolled count the work in the background.
	Checkpoint func(took time.Duration, bytes int)
	Merged     func(files int, messages int64)
	Recycled   func(file uint32)
	Rolled     func(from, to uint32)
}

func (e Events) warn(s string) {
	if e.Warning != nil {
		e.Warning(s)
	}
}

// mode translates to the journal's.
func (m SyncMode) mode() journal.SyncMode {
	switch m {
	case SyncInterval:
		return journal.Interval
	case SyncNone:
		return journal.None
	case SyncAlways:
	}
	return journal.Always
}
