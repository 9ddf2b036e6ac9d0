// Package segment is the embedded store: a folder on disk, nothing to install, acknowledged means fsynced.
//
// # How it works
//
// Every change of every queue is a record in one journal (store/internal/journal) that one committer writes and syncs
// for all who wait. A call takes its queue's lock, decides on the state machine (store/internal/model), appends the
// record to the journal's buffer in memory, gives the lock up and waits until the journal is durable up to what the
// call has seen. No I/O happens under a lock, and the order of the journal is the order of the decisions.
//
// What a message says stays where the journal put it. In memory a queue knows, for each data file, which of its
// sequences lie there and one place for about every 8 KiB ([where]); to deliver a message is to seek to such a place and
// walk on a few records. A full data file is sealed and stays as it is while messages in it live. When less than half of
// it does, or a smaller part while room is short, the rest is copied to a merged file; a file without live messages is
// recycled as a journal file to come. So most messages,
// sent and acknowledged within seconds, are written once, and a backlog is not written twice.
//
// The records of a log are found in the same way, for each partition by offset plus one. They leave at the front only, so
// of a partition that is read and not consumed a data file is live from some record on. A merge copies an append as it
// is, with all its parts.
//
// A checkpoint holds the state of all queues and logs, their places and the key-value part. It is taken when a file is full, one
// queue after the other, each stamped with the LSN of its last record; on opening, records up to the stamp are not
// applied again. It is published, by renaming a file, once the journal is durable beyond all stamps. A data file is
// let go of only when the published checkpoint neither replays nor refers to it; without a byte of room on the disk, also
// when it refers to nothing there that is still live.
//
// # Files
//
//	LOCK              held while the store is open
//	CURRENT           magic, version, number of the published checkpoint, checksum
//	checkpoint-<n>    see checkpoint.go
//	ballast           zeros that keep room for a checkpoint, see ballast.go
//	journal files     see store/internal/record
//
// # Locks
//
// In this order: maintenance (one checkpoint or merge at a time) – Store.mu (the maps of queues and logs) – queue.mu, several in
// rising order of generation, or log.mu – kv.mu – where.mu – locks inside the journal.
//
// What does not live here: the rules (model), bytes and syncing (record, journal), the file system (disk).
package segment
