package journal

import (
	"fmt"

	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// roll seals the active file and goes on in the spare, which must have the given room. It waits for the spare if need
// be: what was appended must be written, and there is nowhere else.
func (j *Journal) roll(need int64) error {
	next, err := j.awaitSpare(need)
	if err != nil {
		return err
	}
	full := j.active
	if err := j.seal(next.number()); err != nil {
		return err
	}
	end := j.tail
	full.sealed.Store(true)
	j.activate(next, firstBatch)
	j.setMark()
	j.mu.Lock()
	j.left = next.room(firstBatch)
	j.freeRoom()
	j.mu.Unlock()
	signal(j.prepareNow)
	if j.o.Sealed != nil {
		j.o.Sealed(full.number(), end)
	}
	if j.o.Events.Rolled != nil {
		j.o.Events.Rolled(full.number(), next.number())
	}
	return nil
}

// seal writes and syncs the last batch of the active file. It is synced in every mode, before the next file is used:
// so only the last file of the chain can have a torn end.
func (j *Journal) seal(next uint32) error {
	block := make([]byte, sealSize)
	record.PutBatchHeader(block, record.BatchHeader{
		First:  j.written + 1,
		Synced: j.synced,
		Seal:   true,
		Next:   next,
	}, j.active.header.Salt, j.active.number(), uint32(j.tail))
	if _, err := j.active.WriteAt(block, j.tail); err != nil {
		return fmt.Errorf("seal %s at %d: %w", fileName(j.active.number()), j.tail, err)
	}
	j.tail += sealSize
	j.active.end.Store(j.tail)
	_, err := j.datasync()
	return err
}

// awaitSpare takes the spare once it is there and has the room. It waits for as long as only room is short; when making
// a file fails for another reason, with one more attempt, there is nowhere to write to and the error is final.
func (j *Journal) awaitSpare(need int64) (*dataFile, error) {
	attempts := -1
	for {
		spare, changed, err := j.takeSpare(need, &attempts)
		if spare != nil || err != nil {
			return spare, err
		}
		<-changed
	}
}

// takeSpare returns the spare, or a channel that is closed when it is worth looking again. since is the number of
// attempts to make one at the first call, -1 before.
func (j *Journal) takeSpare(need int64, since *int) (*dataFile, <-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if spare := j.spare; spare != nil && j.spareRoom >= need {
		j.spare, j.spareRoom, j.wantRoom, j.needRoom = nil, 0, 0, 0
		j.prepareErr = nil // of the last one; the next has not been tried yet
		return spare, nil, nil
	}
	if *since < 0 {
		*since = j.attempts
		signal(j.prepareNow)
	}
	if j.prepareErr != nil && j.attempts > *since && (j.closing || !disk.Shortage(j.prepareErr)) {
		return nil, nil, fmt.Errorf("records wait for room: %w", j.prepareErr)
	}
	if j.needRoom = need; j.spare != nil {
		signal(j.prepareNow)
	}
	return nil, j.spareChanged, nil
}
