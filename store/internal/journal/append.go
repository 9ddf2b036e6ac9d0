package journal

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Append gives the next LSN to a record that was sealed with [record.Seal], and puts it into the line. It keeps rec,
// which must not be changed any more. It only works in memory and may be called with locks held. When urgent is false
// nobody is going to wait for the record soon: it goes out with the next batch, or by itself within about 20 ms.
//
// It does not refuse for want of room, since the caller has applied the change by now: a record that got here although
// there is none (see [Journal.Room]) waits until a file can be made. An error means that the record will not be written:
// it wraps [store.ErrUnknown] after a failure or [store.ErrClosed].
func (j *Journal) Append(rec []byte, urgent bool) (LSN, error) {
	worst := worstCase(len(rec))
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return 0, err
	}
	lsn := j.next
	j.next++
	j.line = append(j.line, rec)
	j.lineBytes += int64(len(rec))
	j.waiting += int64(len(rec))
	j.worst += worst
	j.hurry(urgent, len(j.line) == 1)
	return lsn, nil
}

// hurry wakes the committer when the line should go out now, or sets the time when it should. j.mu is held.
func (j *Journal) hurry(urgent, first bool) {
	switch {
	case j.urgent || j.due:
	case urgent:
		j.urgent = true
		signal(j.wake)
	case j.lineBytes >= lazyBytes:
		j.due = true
		signal(j.wake)
	case first:
		j.lazyTimer.Reset(lazyAfter)
	}
}

// Room waits until a record of about n bytes (with its header) may be appended, and is called before taking the locks
// that Append is called under. It holds callers back while too much waits in memory, or while it is not certain that all
// that waits finds its place in the files that are ready. It reserves nothing, but keeps a margin for those who come at
// the same time. A record that frees something (an acknowledgement) is essential: it is let in for as long as there is
// any room, while others get [store.ErrFull] as soon as the next file cannot be made. Other errors: [store.ErrTooLarge],
// those of Append, and that of ctx.
func (j *Journal) Room(ctx context.Context, n int, essential bool) error {
	if n > record.HeaderSize+record.MaxPayload {
		return fmt.Errorf("journal: record of %d bytes: %w", n, store.ErrTooLarge)
	}
	for {
		wait, err := j.tryRoom(n, essential)
		if wait == nil || err != nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// HasRoom is Room for those who do not wait: it says whether there is room now.
func (j *Journal) HasRoom(n int, essential bool) bool {
	wait, err := j.tryRoom(n, essential)
	return wait == nil && err == nil
}

// tryRoom returns nil, nil when there is room, or a channel that is closed when it is worth looking again.
func (j *Journal) tryRoom(n int, essential bool) (<-chan struct{}, error) {
	need := worstCase(n) + j.margin()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return nil, err
	}
	fits := j.worst+need <= max(j.left, j.spareRoom)
	if need > max(j.usualRoom(), j.left, j.spareRoom) && need > j.wantRoom {
		j.wantRoom = need + 2*j.worst
		signal(j.prepareNow)
	}
	if j.prepareErr != nil && (!fits || (!essential && j.spare == nil)) {
		if essential {
			j.starved = max(j.starved, need)
		}
		return nil, j.full()
	}
	if fits && j.waiting < j.limit() {
		return nil, nil
	}
	j.roomWanted = true
	return j.roomFreed, nil
}

// Fits says whether a record of n bytes finds its place for certain, in the room that [Journal.Room] keeps back for those
// who come at the same time. Nobody else may append meanwhile.
func (j *Journal) Fits(n int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure == nil && j.worst+worstCase(n) <= max(j.left, j.spareRoom)
}

// margin is kept free for those who asked for room at the same time.
func (j *Journal) margin() int64 { return min(1<<20, record.Blocks(j.o.FileSize/16)) }

// usualRoom is the room of a whole file of the usual size.
func (j *Journal) usualRoom() int64 { return j.o.FileSize - firstBatch - sealSize }

// limit is how many bytes may wait before callers are held up: never more than half a file, so that one spare takes it.
func (j *Journal) limit() int64 { return min(maxWaiting, j.o.FileSize/2) }

// full explains why there is no room. j.mu is held.
func (j *Journal) full() error {
	return fmt.Errorf("journal: %w: the next data file cannot be made: %w", store.ErrFull, j.prepareErr)
}

// freeRoom wakes those who wait for room. j.mu is held.
func (j *Journal) freeRoom() {
	if j.roomWanted {
		close(j.roomFreed)
		j.roomFreed = make(chan struct{})
		j.roomWanted = false
	}
}

// worstCase is what a record of n bytes takes in a file in a batch of its own.
func worstCase(n int) int64 { return record.Blocks(record.BatchHeaderSize + int64(n)) }
