package journal

import (
	"fmt"

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

// awaitSpare takes the spare once it is there and has the room.
func (j *Journal) awaitSpare(need int64) (*dataFile, error) {
	for {
		spare, changed, err := j.takeSpare(need)
		if spare != nil || err != nil {
			return spare, err
		}
		<-changed
	}
}

// takeSpare returns the spare, or a channel that is closed when it is worth looking again.
func (j *Journal) takeSpare(need int64) (*dataFile, <-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if spare := j.spare; spare != nil && j.spareRoom >= need {
		j.spare, j.spareRoom, j.wantRoom = nil, 0, 0
		return spare, nil, nil
	}
	if j.closing && j.prepareErr != nil {
		return nil, nil, fmt.Errorf("closed with records waiting for room: %w", j.prepareErr)
	}
	j.wantRoom = max(j.wantRoom, need)
	signal(j.prepareNow)
	return nil, j.spareChanged, nil
}
