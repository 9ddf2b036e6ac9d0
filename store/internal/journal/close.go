package journal

import (
	"errors"

	"github.com/dabba-mq/dabba/store"
)

// Close writes and syncs everything that was appended and closes all files. Appends get [store.ErrClosed] from then on.
// It returns why the journal failed, if it did. Repeating it is harmless.
func (j *Journal) Close() error {
	j.closeOnce.Do(func() { j.closeErr = j.shut() })
	return j.closeErr
}

func (j *Journal) shut() error {
	j.mu.Lock()
	j.closing = true
	j.freeRoom()
	if j.failure == nil {
		j.syncers = append(j.syncers, syncer{j.next - 1, make(chan struct{})}) // the last sync
	}
	signal(j.wake)
	signal(j.prepareNow)
	close(j.spareChanged) // one that waits for room should look whether it still may
	j.spareChanged = make(chan struct{})
	j.mu.Unlock()
	<-j.committed
	close(j.stopping)
	<-j.prepared
	j.mu.Lock()
	j.lazyTimer.Stop()
	j.syncTimer.Stop()
	err := j.failure
	j.mu.Unlock()
	return errors.Join(err, j.closeFiles())
}

// closeFiles closes what is open, the reads under way being waited for.
func (j *Journal) closeFiles() error {
	var errs []error
	if j.spare != nil {
		errs = append(errs, j.spare.Close())
	}
	j.filesMu.Lock()
	defer j.filesMu.Unlock()
	for _, f := range j.files {
		f.use.Lock()
		f.gone = store.ErrClosed
		errs = append(errs, f.Close())
		f.use.Unlock()
	}
	j.files = nil
	return errors.Join(errs...)
}
