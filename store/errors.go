package store

import "errors"

// The closed set of errors a store returns, always wrapped with what was being done. Only [ErrUnknown] leaves open
// whether the change took place.
var (
	// ErrGone: the queue generation was dropped or never configured.
	ErrGone = errors.New("queue is gone")
	// ErrStaleConfig: the call was resolved against another revision of the configuration.
	ErrStaleConfig = errors.New("stale configuration revision")
	// ErrKeyReused: an idempotency key came back with other content.
	ErrKeyReused = errors.New("idempotency key reused with different content")
	// ErrNotFound: no such key.
	ErrNotFound = errors.New("key not found")
	// ErrConflict: the key's revision, or the partition's end, is not the expected one.
	ErrConflict = errors.New("not what was expected")
	// ErrTrimmed: the offset is below the first record that is left.
	ErrTrimmed = errors.New("offset was trimmed")
	// ErrOutOfRange: the offset is beyond the end of the partition.
	ErrOutOfRange = errors.New("offset is out of range")
	// ErrTooLarge: one call carries more than the store can write as one record.
	ErrTooLarge = errors.New("too large for one record")
	// ErrFull: no room; nothing was changed; retry after space was freed.
	ErrFull = errors.New("storage is full")
	// ErrUnknown: the outcome is unknown, since the store failed while writing. A store that keeps its files itself serves
	// no more until it is opened again; one that is reached over a network goes on when it can be reached again.
	ErrUnknown = errors.New("outcome unknown: the store failed while writing")
	// ErrUnavailable: what keeps the data cannot be reached or serves nobody now; nothing was changed; retry later.
	ErrUnavailable = errors.New("storage is unavailable")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLocked: another process has the data folder open.
	ErrLocked = errors.New("data folder is in use")
	// ErrVersion: the data was written by an incompatible version, or a server that keeps it is of one.
	ErrVersion = errors.New("incompatible version")
	// ErrCorrupt: stored bytes are not what was written.
	ErrCorrupt = errors.New("stored data is corrupt")
)
