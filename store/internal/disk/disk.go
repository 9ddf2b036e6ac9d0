// Package disk is the file system as the segment store sees it: a few calls, each with the durability that the
// store relies on, so that tests can put a simulated disk beneath it that loses power, tears writes and fails on
// demand. [OS] is the real one; [Sim] is the simulated one.
//
// What is assumed of a disk: a 512-byte sector is written whole or not at all; after Sync returns nil the data and
// the length of the file survive power loss; after SyncDir returns nil so do creations, renames and removals in
// that directory; until then any subset of them may survive.
//
// What does not live here: formats, checksums, policy about failures.
package disk

import "io"

// FS is a file system. Names are slash-separated paths. Errors wrap those of io/fs and syscall (fs.ErrNotExist,
// syscall.ENOSPC, …). Safe for concurrent use.
type FS interface {
	// Create makes a new empty file for reading and writing; it fails with fs.ErrExist if there is one.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Rename replaces newName atomically. It is durable after SyncDir.
	Rename(oldName, newName string) error
	// Remove deletes a file. It is durable after SyncDir.
	Remove(name string) error
	// List returns the base names of the files in dir, sorted.
	List(dir string) ([]string, error)
	// MkdirAll makes dir and its parents, durably.
	MkdirAll(dir string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Free is the number of bytes that can still be allocated where dir lies.
	Free(dir string) (int64, error)
	// Lock takes an exclusive lock on a file, creating it if absent; closing releases it. It fails with
	// [ErrLocked] if another process (or another caller) holds it.
	Lock(name string) (io.Closer, error)
}

// File is an open file. ReadAt and WriteAt may be called concurrently on disjoint ranges.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes data and length durable (fdatasync).
	Sync() error
	// Truncate sets the length. A longer file reads as zeros.
	Truncate(size int64) error
	// Size is the present length in bytes.
	Size() (int64, error)
}
