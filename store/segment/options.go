package segment

import (
	"io"
	"time"

	"github.com/dabba-mq/dabba/store"
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
	// Now drives queue time: only differences of what it shows count, and it never goes back. Its monotonic reading is taken
	// if it has one.
	Now func() time.Time
	// Wall shows the wall clock, which may be set at any time; nil means that Now does.
	Wall func() time.Time
	// Boot names the boot of the machine and says how long that has been up, suspensions included: by it the time for
	// which the store was closed is measured. Nil, or an empty name, means that it is not known.
	Boot func() (name string, up time.Duration)
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
	// Gap is called while the store is opened if it was closed for a time that had to be guessed and is implausible, or the
	// wall clock was set meanwhile.
	Gap func(store.Gap)
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
