package journal

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Wait returns nil once the record with this LSN, and with it every earlier one, is as durable as the sync mode
// promises. The error wraps [store.ErrUnknown] when the journal failed before, or [store.ErrClosed] when the LSN was
// not given out before Close.
func (j *Journal) Wait(lsn LSN) error {
	for j.Durable() < lsn {
		done, err := j.batchOf(lsn)
		if err != nil {
			return err
		}
		<-done
	}
	return nil
}

// batchOf returns a channel that is closed when the batch the LSN may be in is durable.
func (j *Journal) batchOf(lsn LSN) (<-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.Durable() >= lsn:
		return closed, nil
	case j.failure != nil:
		return nil, j.failure
	case lsn >= j.next && j.closing:
		return nil, fmt.Errorf("journal: wait for LSN %d: %w", lsn, store.ErrClosed)
	case lsn >= j.next:
		return nil, fmt.Errorf("journal: wait for LSN %d, which was never given out", lsn)
	case j.writing != nil && lsn <= j.writingLast:
		return j.writing, nil
	}
	j.hurry(true, false)
	return j.gathering, nil
}

// syncer waits until everything up to an LSN is synced.
type syncer struct {
	upTo LSN
	done chan struct{}
}

// Sync returns nil once everything appended before the call is synced, in whatever mode. It returns [store.ErrFull]
// instead of waiting for somebody to free space, when some of it has nowhere to go.
func (j *Journal) Sync() error {
	j.mu.Lock()
	if err := j.usable(); err != nil {
		j.mu.Unlock()
		return err
	}
	done := make(chan struct{})
	j.syncers = append(j.syncers, syncer{j.next - 1, done})
	signal(j.wake)
	j.mu.Unlock()
	for {
		changed, err := j.stuck()
		if err != nil {
			return err
		}
		select {
		case <-done:
			return j.Err()
		case <-changed:
		}
	}
}

// stuck returns an error when the committer waits for a file that cannot be made, or else a channel that is closed when
// that may have changed.
func (j *Journal) stuck() (<-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.needRoom > 0 && j.prepareErr != nil {
		return nil, j.full()
	}
	return j.spareChanged, nil
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
