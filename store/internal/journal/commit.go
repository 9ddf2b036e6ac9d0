package journal

import (
	"fmt"
	"runtime"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// keepBuffer is the size up to which the committer keeps its buffer.
const keepBuffer = 2 * record.MaxBatch

// batch is what the committer took from the line for one write.
type batch struct {
	first   LSN
	records [][]byte
	// size is the length of the records with the gaps between them.
	size int64
	// bytes and worst are what they counted in the line.
	bytes, worst int64
	done         chan struct{}
}

func (b batch) last() LSN { return b.first + LSN(len(b.records)) - 1 }

// work is what the committer does next; the zero work is to end.
type work struct {
	// write says that there is something in the line.
	write bool
	// sync says that someone waits for a sync, or that the interval has passed.
	sync    bool
	syncers []syncer
}

// commitLoop is the committer: the only goroutine that writes to the active file.
func (j *Journal) commitLoop() {
	defer close(j.committed)
	var records [][]byte // reused from batch to batch
	for {
		w := j.gather()
		var err error
		switch {
		case w.write:
			records, err = j.commitNext(records[:0])
		case w.sync:
			err = j.syncActive()
			if err == nil {
				closeAll(w.syncers)
			}
		default:
			return
		}
		if err != nil {
			j.fail(err)
			closeAll(w.syncers)
			return
		}
	}
}

// gather waits for something to do.
func (j *Journal) gather() work {
	runtime.Gosched() // those just released may have more; they run before this goroutine does again
	for {
		if w, ok := j.nextWork(); ok {
			return w
		}
		<-j.wake
	}
}

func (j *Journal) nextWork() (work, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	head := j.next - LSN(len(j.line))
	ready := 0
	for ready < len(j.syncers) && j.syncers[ready].upTo < head {
		ready++
	}
	switch {
	case ready > 0 || j.syncDue:
		w := work{sync: true, syncers: j.syncers[:ready:ready]}
		j.syncers, j.syncDue = j.syncers[ready:], false
		return w, true
	case len(j.line) > 0 && (j.urgent || j.due || j.closing || len(j.syncers) > 0):
		return work{write: true}, true
	case j.closing:
		return work{}, true
	}
	return work{}, false
}

// commitNext writes one batch from the head of the line and publishes it. It rolls over first if not even the first
// record fits into the active file. The returned slice may be used for the next batch.
func (j *Journal) commitNext(records [][]byte) ([][]byte, error) {
	if need := j.headSize(); need > j.active.room(j.tail) {
		if err := j.roll(need); err != nil {
			return nil, err
		}
	}
	b := j.take(records, j.active.room(j.tail))
	if err := j.write(b); err != nil {
		return nil, err
	}
	clear(b.records)
	return b.records, nil
}

// headSize is what the first record of the line takes in a batch of its own.
func (j *Journal) headSize() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return worstCase(len(j.line[0]))
}

// take moves records from the line into a batch, at least one, as many as fit into room and [record.MaxBatch].
func (j *Journal) take(records [][]byte, room int64) batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := batch{first: j.next - LSN(len(j.line)), records: records, done: j.gathering}
	limit := min(room, record.MaxBatch) - record.BatchHeaderSize
	n := 0
	for _, r := range j.line {
		size := record.Align(b.size) + int64(len(r))
		if n > 0 && size > limit {
			break
		}
		b.size = size
		b.bytes += int64(len(r))
		b.worst += worstCase(len(r))
		n++
	}
	b.records = append(b.records, j.line[:n]...)
	rest := copy(j.line, j.line[n:])
	clear(j.line[rest:])
	j.line = j.line[:rest]
	j.lineBytes -= b.bytes
	if rest == 0 {
		j.urgent, j.due = false, false
		j.lazyTimer.Stop()
	}
	j.writing, j.writingLast = b.done, b.last()
	j.gathering = make(chan struct{})
	return b
}

// write puts a batch on disk, tells where its records are, syncs, and publishes.
func (j *Journal) write(b batch) error {
	buf := j.assemble(b)
	start := j.o.Now()
	if _, err := j.active.WriteAt(buf, j.tail); err != nil {
		return fmt.Errorf("write %s at %d: %w", fileName(j.active.number()), j.tail, err)
	}
	j.dirty = true
	j.written = b.last()
	event := Wrote{Records: len(b.records), Bytes: int64(len(buf)), Write: j.o.Now().Sub(start)}
	at := j.tail
	j.tail += int64(len(buf))
	j.active.end.Store(j.tail)
	j.place(b, at)
	if j.o.Sync == Always {
		var err error
		if event.Sync, err = j.datasync(); err != nil {
			return err
		}
		j.setMark()
	}
	j.publish(b)
	if j.o.Events.Wrote != nil {
		j.o.Events.Wrote(event)
	}
	return nil
}

// assemble builds the batch as it goes to disk, in the committer's buffer.
func (j *Journal) assemble(b batch) []byte {
	total := record.Blocks(record.BatchHeaderSize + b.size)
	if int64(cap(j.buffer)) < total || int64(cap(j.buffer)) > keepBuffer && total <= keepBuffer {
		j.buffer = make([]byte, max(total, 256<<10))
	}
	buf := j.buffer[:total]
	at := int64(record.BatchHeaderSize)
	salt := j.active.header.Salt
	for i, r := range b.records {
		last := i == len(b.records)-1
		n := int64(copy(buf[at:], r))
		record.Stamp(buf[at:at+n], b.first+LSN(i), last, salt, uint32(j.tail+at))
		at += n
		gap := record.Align(at)
		if last {
			gap = total
		}
		clear(buf[at:gap])
		at = gap
	}
	record.PutBatchHeader(buf, record.BatchHeader{
		Length: uint32(b.size),
		Count:  uint32(len(b.records)),
		First:  b.first,
		Synced: j.synced,
	}, salt, j.active.number(), uint32(j.tail))
	return buf
}

// place tells the owner where the records of a batch that begins at this offset are.
func (j *Journal) place(b batch, at int64) {
	if j.o.Placed == nil {
		return
	}
	at += record.BatchHeaderSize
	for i, r := range b.records {
		rec := record.Peek(r)
		rec.LSN = b.first + LSN(i)
		j.o.Placed(rec.LSN, Position{File: j.active.number(), Offset: uint32(at)}, uint32(len(r)), rec)
		at = record.Align(at + int64(len(r)))
	}
}

// publish releases those who wait for a batch.
func (j *Journal) publish(b batch) {
	j.mu.Lock()
	j.durable.Store(uint64(b.last()))
	j.waiting -= b.bytes
	j.worst -= b.worst
	j.left = j.active.room(j.tail)
	j.writing = nil
	if j.dirty && j.o.Sync == Interval {
		j.armSync()
	}
	j.freeRoom()
	j.mu.Unlock()
	close(b.done)
	if j.o.Durable != nil {
		j.o.Durable(b.last())
	}
}

// datasync syncs the active file. The mark is the caller's: after a seal it belongs into the next file.
func (j *Journal) datasync() (time.Duration, error) {
	start := j.o.Now()
	if err := j.active.Sync(); err != nil {
		return 0, fmt.Errorf("sync %s: %w", fileName(j.active.number()), err)
	}
	took := j.o.Now().Sub(start)
	j.dirty = false
	j.synced = j.written
	return took, nil
}

// setMark notes that everything written is synced.
func (j *Journal) setMark() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mark = Start{File: j.active.number(), Offset: uint32(j.tail), After: j.written}
}

// syncActive syncs what was written and not synced yet.
func (j *Journal) syncActive() error {
	if !j.dirty {
		return nil
	}
	if _, err := j.datasync(); err != nil {
		return err
	}
	j.setMark()
	return nil
}

// fail ends the journal for good and releases everyone.
func (j *Journal) fail(cause error) {
	err := fmt.Errorf("journal: %w: %w", store.ErrUnknown, cause)
	j.mu.Lock()
	j.failure = err
	if j.writing != nil {
		close(j.writing)
		j.writing = nil
	}
	close(j.gathering)
	clear(j.line)
	j.line = nil
	j.roomWanted = true
	j.freeRoom()
	syncers := j.syncers
	j.syncers = nil
	j.lazyTimer.Stop()
	j.syncTimer.Stop()
	j.mu.Unlock()
	closeAll(syncers)
	if j.o.Failed != nil {
		j.o.Failed(err)
	}
}

func closeAll(waiters []syncer) {
	for _, w := range waiters {
		close(w.done)
	}
}
