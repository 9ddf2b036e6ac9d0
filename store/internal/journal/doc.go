// Package journal keeps the one journal of a segment store: every change of every queue is a record in it, and one
// committer goroutine makes them durable, many with one sync.
//
// # Life of a record
//
// [Journal.Append] gives a record its LSN and its place in the line, in memory; it is called with the caller's locks
// held, so that journal order is the order in which changes were applied. The committer gathers whatever waits, puts it
// into one batch, writes and syncs it, and releases everyone in [Journal.Wait]. There is no lingering: the batch of the
// next sync collects while the present sync runs. Records nobody waits for ride along, or go out by themselves soon.
//
// # Files
//
// Data files are named by number, "00000007.journal". They hold batches, in the format of package record. The active
// file was written through to its full size and synced before its first use, so that writing to it never needs a new
// block; the file to follow it (the spare) is prepared in the background, ready under its name, so that rolling over is
// a swap. The last batch of a full file is its seal: it names the file that follows, which exists durably by then. So a
// missing file is never taken for the end. A full file does not change any more and stays until [Journal.Release].
// Files that [Writer] makes have the same format; they are no part of the chain.
//
// Other names: "*.tmp" and "*.free" hold nothing of worth and are removed or used again; "torn-FILE-OFFSET" and
// "quarantine-…" are copies of what recovery cut off, kept for people.
//
// # Recovery
//
// [Open] follows the chain of files from where the store's manifest says, handing each record on. Where a batch cannot
// be read, it looks at every later 4 KiB boundary. If a later batch says that what is missing had been synced, then
// acknowledged data is damaged: Open refuses, unless told to quarantine. Otherwise it is the torn end of a write nobody
// was told about, and is cut off: copied aside, overwritten with zeros, reported. What no later batch vouches for is
// written and synced again before anything is served, since the page cache may hold what the disk does not. LSNs go on
// far above the highest one seen.
//
// # Failure
//
// A failed write or sync of the active file ends the journal for good: nobody can know what is on the disk then, and a
// second sync that succeeds proves nothing. All waiters get [store.ErrUnknown]. Trouble with preparing the next file is
// tried again; [store.ErrFull] is returned once records do not fit into what is there. Acknowledgements may fill the
// active file to its end.
//
// # Locks
//
// Callers' locks come before the journal's own; the journal calls back with none held. Journal.mu guards the line and
// the state of files, Journal.filesMu the table of open files; neither is held over I/O. dataFile.use is held for
// reading during a read of one file, so that a file is not taken away beneath it.
//
// What does not live here: what the records mean, which files are still needed, checkpoints, the manifest.
package journal
