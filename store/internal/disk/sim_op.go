package disk

import (
	"io/fs"
)

// Kind is what a call to a [Sim] does.
type Kind string

// The calls of [FS] and [File].
const (
	OpCreate   Kind = "create"
	OpOpen     Kind = "open"
	OpRename   Kind = "rename"
	OpRemove   Kind = "remove"
	OpList     Kind = "list"
	OpMkdirAll Kind = "mkdir"
	OpSyncDir  Kind = "syncdir"
	OpFree     Kind = "free"
	OpLock     Kind = "lock"
	OpRead     Kind = "read"
	OpWrite    Kind = "write"
	OpSync     Kind = "sync"
	OpTruncate Kind = "truncate"
	OpSize     Kind = "size"
	OpClose    Kind = "close"
)

// Changes says whether such a call changes what is, or will be, on the disk.
func (k Kind) Changes() bool {
	switch k {
	case OpCreate, OpRename, OpRemove, OpMkdirAll, OpSyncDir, OpLock, OpWrite, OpSync, OpTruncate:
		return true
	case OpOpen, OpList, OpFree, OpRead, OpSize, OpClose:
	}
	return false
}

// Op is one call, shown to [Sim.Hook] before and after it takes effect.
type Op struct {
	// N numbers the calls from 1; it is the same before and after.
	N    int
	Kind Kind
	// Name is the file or directory, by the name it has now; To the new name of a rename.
	Name, To string
	// Offset and Len are the range of a read or write; Offset is the size of a truncate.
	Offset int64
	Len    int
	After  bool
}

func (op Op) fail(err error) error {
	return &fs.PathError{Op: string(op.Kind), Path: op.Name, Err: err}
}

// ShortWrite is an error for a hook to return before a write: only the first N bytes are written, and the write
// fails with Err.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string { return "short write: " + e.Err.Error() }

func (e *ShortWrite) Unwrap() error { return e.Err }

// SyncFault is an error for a hook to return before a sync: what was written since the last one does not become
// durable, in the way of Mode, and the sync fails with Err.
type SyncFault struct {
	Mode SyncMode
	Err  error
}

func (e *SyncFault) Error() string { return "sync: " + e.Err.Error() }

func (e *SyncFault) Unwrap() error { return e.Err }

// SyncMode is a way in which a sync goes wrong. In each of them a later sync succeeds though the data is lost.
type SyncMode uint8

const (
	// Dropped: what was written is gone, reads give the old content.
	Dropped SyncMode = iota
	// KeptUntilEvicted: reads give the new content until [Sim.Evict], as if it were on the disk. A block that is written
	// again is durable after the next sync.
	KeptUntilEvicted
	// Dying: like KeptUntilEvicted, and the file never becomes durable any more, whatever is written, though all later
	// syncs succeed.
	Dying
	// Lied: the sync succeeds (Err is not used) and makes nothing durable; a crash may take what it was for.
	Lied
)
