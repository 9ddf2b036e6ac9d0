package store

import (
	"context"
	"fmt"
	"time"
)

// Log is the other hot path: topics. A log is known by its generation, like a queue, and has partitions, each an
// ordered sequence of records that are read any number of times and leave only at the front. Every call names a log by
// its generation; a dropped or never configured one is [ErrGone].
//
// A store whose leader may lose what it acknowledged ([Info].Replicated, or one that syncs its disk late) may leave holes:
// when that may have happened, the next append to a partition passes over all offsets that may have been lost, so that none
// is ever given out twice. A Fetch before a hole ends at its beginning; one inside of it, its beginning included, is
// [ErrTrimmed], with Bounds of what is behind it: First is its end. Seek and Trim take an offset in a hole for its end, and an
// Expect in one is [ErrConflict] as any other that is not the end of the partition.
type Log interface {
	// Append appends records to the ends of partitions: all of them or none. Durable on return. A revision other than the
	// configured one, or a partition that is not there, is [ErrStaleConfig]. With Expect set, a partition whose end is
	// another is [ErrConflict], as an [*OffsetError]. Once works as in [Queues].Send and is looked at first. [ErrFull] when
	// the disk has no room.
	Append(ctx context.Context, p AppendParams) (AppendResult, error)

	// Fetch reads records of one partition in order, as far as they are durable, and changes nothing. At the end it gives
	// none, without an error. An offset below the first is [ErrTrimmed], one beyond the end [ErrOutOfRange], both as an
	// [*OffsetError]; a partition that is not there is [ErrStaleConfig]. A record whose bytes are damaged ends the answer
	// before it; if it is the first one it is [ErrCorrupt].
	Fetch(ctx context.Context, p FetchParams) (FetchResult, error)

	// Seek finds the first record whose time is not before at, to the millisecond; the end of the partition if there is
	// none.
	Seek(ctx context.Context, l LogID, partition uint32, at time.Time) (Offset, error)

	// Bounds describes all partitions, in order, at one instant. What it says is durable.
	Bounds(ctx context.Context, l LogID) ([]Bounds, error)
}

// LogAdmin is the rare side of logs.
type LogAdmin interface {
	// ConfigureLog creates the log or replaces its settings. Durable on return. A revision not above the present one
	// changes nothing and returns nil, so that it may be repeated.
	ConfigureLog(ctx context.Context, l LogID, s LogSettings) error

	// DropLog removes the log with its records; for ever, since generations are never used again. Durable on return. An
	// unknown generation is nil.
	DropLog(ctx context.Context, l LogID) error

	// Trim removes the records of a partition below an offset and says what is left. Durable on return. One at or below
	// the first changes nothing; one beyond the end is [ErrOutOfRange].
	Trim(ctx context.Context, l LogID, partition uint32, before Offset) (Bounds, error)

	// SweepLog removes what is past retention. Durable on return.
	SweepLog(ctx context.Context, l LogID) (LogSweepResult, error)

	// Logs lists all generations after the given one, in rising order, at most limit.
	Logs(ctx context.Context, after LogID, limit int) ([]LogID, error)

	// WatchLogs registers the one function that is told when records of a partition have become durable. It is called with
	// no lock held, possibly from many goroutines, and must not block. WatchLogs is called at most once, before the first
	// use of a log.
	WatchLogs(notify func(l LogID, partition uint32))
}

// LogID is a generation: one creation of one log. It is chosen by the caller, never zero, never used again.
type LogID uint64

// Offset numbers the records of one partition from 0, in the order they were appended, without gaps but for holes, see [Log].
type Offset uint64

// LogSettings are the resolved numbers of a topic's configuration that its log needs.
type LogSettings struct {
	// Revision rises with each change of configuration.
	Revision uint64
	// Partitions is at least 1. A log never has fewer than it had: a lower number is taken for the present one.
	Partitions uint32
	// RetentionAge is how long a record stays after it was appended; 0 means for ever.
	RetentionAge time.Duration
	// RetentionBytes bounds the sizes of each partition; 0 means no bound. The last call's records always stay.
	RetentionBytes int64
}

// LogRecord is one record to be appended. The payload is opaque to the store.
type LogRecord struct {
	Payload []byte
	// Size is what the record counts in Bounds.Bytes: key, value and headers, in bytes.
	Size uint32
	// Time is the record's own, in milliseconds, which need not rise; zero means the time of the append.
	Time time.Time
}

// AppendParams describe one Append.
type AppendParams struct {
	Log      LogID
	Revision uint64
	// Parts has at least one, with at least one record, and each partition at most once.
	Parts []AppendPart
	Once  *Once
	Acks  Acks
}

// AppendPart are records for one partition.
type AppendPart struct {
	Partition uint32
	Records   []LogRecord
	// Expect, if set, is the offset that the first of them must get.
	Expect *Offset
}

// AppendResult says where the records are.
type AppendResult struct {
	// Parts are those of the (first) call, in its order.
	Parts []Appended
	// At is the time of the append.
	At time.Time
	// Duplicate and Note are as in [SendResult].
	Duplicate bool
	Note      []byte
	// NextDue is when retention has something to remove from these partitions.
	NextDue time.Duration
}

// Appended says that Count records of a partition have offsets First, First+1 and so on.
type Appended struct {
	Partition uint32
	First     Offset
	Count     int
}

// FetchParams describe one Fetch.
type FetchParams struct {
	Log       LogID
	Partition uint32
	Offset    Offset
	// Max is at least 1.
	Max int
	// MaxBytes bounds the sum of the sizes; the first record is given whatever its size.
	MaxBytes int64
}

// FetchResult holds records with consecutive offsets, from the one that was asked for.
type FetchResult struct {
	Records []Fetched
	// Bounds are those of the partition; Next is its durable end.
	Bounds Bounds
}

// Fetched is one record. Payload belongs to the reader.
type Fetched struct {
	Offset  Offset
	Payload []byte
	Size    uint32
	// Time is the record's own.
	Time time.Time
}

// Bounds describe one partition: it has the records from First up to, but not including, Next. Next is the high
// watermark.
type Bounds struct {
	First, Next Offset
	// Bytes is the sum of their sizes. When records are removed in the middle of what one call appended, it is an estimate
	// of those that stay until the rest of that call has left, too; in a partition of very many calls, neighbors count as one.
	Bytes int64
	// Missing is how many offsets from First to Next hold no record: a replicated store has passed over them, see [Log].
	Missing uint64
}

// LogSweepResult counts what a SweepLog did.
type LogSweepResult struct {
	Trimmed int64
	// NextDue is when retention has something to remove from the log.
	NextDue time.Duration
}

// OffsetError says where a partition begins and ends, for an offset that does not fit. It wraps [ErrTrimmed],
// [ErrOutOfRange] or [ErrConflict].
type OffsetError struct {
	Partition uint32
	Offset    Offset
	Bounds    Bounds
	Err       error
}

// Error implements error.
func (e *OffsetError) Error() string {
	return fmt.Sprintf("offset %d of partition %d, which has %d to %d: %v", e.Offset, e.Partition, e.Bounds.First, e.Bounds.Next, e.Err)
}

// Unwrap gives the kind of error.
func (e *OffsetError) Unwrap() error { return e.Err }
