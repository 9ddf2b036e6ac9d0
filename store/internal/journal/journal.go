package journal

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Journal is an open journal. All methods are safe for concurrent use.
type Journal struct {
	o Options

	// durable is the highest published LSN: everything up to it is as durable as the sync mode promises.
	durable atomic.Uint64

	mu sync.Mutex
	// next is the LSN the next Append gets.
	next LSN
	// line holds sealed records that wait for the committer; the last one has LSN next-1.
	line [][]byte
	// waiting is the number of bytes in the line and in the batch being written; worst is what they take in a file if
	// each has a batch of its own.
	waiting, worst int64
	// lineBytes is the number of bytes in the line.
	lineBytes int64
	// urgent says that someone waits for the line, due that it waited long enough.
	urgent, due bool
	// gathering is closed when the next batch is durable; writing when the one in progress is, whose last LSN is
	// writingLast. writing is nil when there is none.
	gathering, writing chan struct{}
	writingLast        LSN
	// syncers wait for a sync of what was appended before they came, in that order.
	syncers []syncer
	// syncDue says that the interval has passed, syncArmed that its timer runs.
	syncDue, syncArmed bool
	// roomFreed is closed and replaced when room may have appeared, if roomWanted.
	roomFreed  chan struct{}
	roomWanted bool
	// left is the room in the active file after what is written; spareRoom that of a whole spare, 0 without one.
	left, spareRoom int64
	// spare is ready to become the active file. wantRoom is the room it should have for a record that may come, needRoom
	// for one that is in the line.
	spare              *dataFile
	wantRoom, needRoom int64
	// starved is the room that an essential record needed for which there was none; 0 since there is a spare.
	starved int64
	// prepareErr is why the last attempt to make a spare failed; nil while there is hope.
	prepareErr error
	// attempts counts the times that a spare was to be made.
	attempts int
	// spareChanged is closed and replaced whenever spare or prepareErr changes.
	spareChanged chan struct{}
	// nextFile is the number of the next file to be made.
	nextFile uint32
	// free are the names of files that may be used again.
	free []string
	// start is where recovery would begin.
	start Start
	// mark is the end of what is synced.
	mark Start
	// closing is set by Close; failure once the journal has failed.
	closing bool
	failure error

	filesMu sync.RWMutex
	// files are those with content; nil once closed.
	files map[uint32]*dataFile

	// These belong to the committer. active is the file being written, tail where the next batch goes, written the
	// highest LSN in it, synced the highest LSN that was synced, dirty whether something was written since.
	active          *dataFile
	tail            int64
	written, synced LSN
	dirty           bool
	buffer          []byte

	// wake tells the committer that there may be something to do, prepareNow the preparer; both hold one token.
	wake, prepareNow chan struct{}
	lazyTimer        *time.Timer
	syncTimer        *time.Timer
	// committed is closed when the committer has ended, stopping to end the preparer, prepared when it has.
	committed, stopping, prepared chan struct{}
	closeOnce                     sync.Once
	closeErr                      error
}

// FileInfo describes a data file.
type FileInfo struct {
	Number uint32
	// Size is where its content ends, Disk what it takes on the disk. Of a file that was not written or read since Open,
	// only the latter is known, and Size is the same.
	Size, Disk int64
	// Sealed says that it will not change any more.
	Sealed bool
	// Merged says that a [Writer] made it.
	Merged bool
	// Salt tells this use of the number from any other: what is derived from the file can carry it.
	Salt uint64
}

// Durable is the highest LSN that is durable. Everything before it is, too.
func (j *Journal) Durable() LSN { return LSN(j.durable.Load()) }

// Applied is the highest LSN that was given out.
func (j *Journal) Applied() LSN {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next - 1
}

// Err is nil, or why the journal failed; it wraps [store.ErrUnknown].
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

// Mark is where a replay could start that is to see every record after the returned LSN and none before. All of them
// that exist are synced. Sealed is not filled in.
func (j *Journal) Mark() Start {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mark
}

// SetStart tells the journal that the manifest now says s, durably. Files before s.File can be released from then on.
func (j *Journal) SetStart(s Start) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.start = s
}

// Started is the file that recovery begins with.
func (j *Journal) Started() uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.start.File
}

// Files describes all data files with content, the active one among them, in no order.
func (j *Journal) Files() []FileInfo {
	j.filesMu.RLock()
	defer j.filesMu.RUnlock()
	var infos []FileInfo
	for _, f := range j.files {
		infos = append(infos, f.info())
	}
	return infos
}

// usable returns why nothing can be appended any more, or nil. j.mu is held.
func (j *Journal) usable() error {
	switch {
	case j.failure != nil:
		return j.failure
	case j.closing:
		return fmt.Errorf("journal: %w", store.ErrClosed)
	}
	return nil
}

// borrow returns an open data file, which stays open until done is called.
func (j *Journal) borrow(number uint32) (f *dataFile, done func(), err error) {
	j.filesMu.RLock()
	f, open := j.files[number], j.files != nil
	j.filesMu.RUnlock()
	switch {
	case !open:
		return nil, nil, fmt.Errorf("journal: %w", store.ErrClosed)
	case f == nil:
		return nil, nil, fmt.Errorf("%s: %w", fileName(number), ErrReleased)
	}
	f.use.RLock()
	if f.gone != nil {
		defer f.use.RUnlock()
		return nil, nil, fmt.Errorf("%s: %w", fileName(number), f.gone)
	}
	return f, f.use.RUnlock, nil
}

func (j *Journal) register(f *dataFile) {
	j.filesMu.Lock()
	defer j.filesMu.Unlock()
	j.files[f.number()] = f
}

// signal puts a token into a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
