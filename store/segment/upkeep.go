package segment

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// upkeepAgain is how long after a round that failed the next one begins, warnEvery how often a failure is reported.
	upkeepAgain = time.Second
	warnEvery   = 30 * time.Second
	// lookAfter is how long after a change it is looked whether it made room that can be given back. Room comes back
	// within a second, and a busy store is looked at a few times a second.
	lookAfter = 300 * time.Millisecond
)

// upkeep is the work in the background: a checkpoint whenever a data file was sealed or holds nothing live any more, then
// merging and letting go.
type upkeep struct {
	// mu is held over a checkpoint or merge, I/O included; it guards published, tried, checkpointed and packed.
	mu        sync.Mutex
	published uint64 // number of the published checkpoint
	tried     uint64 // highest number of one that was written
	// checkpointed is the size of the last checkpoint.
	checkpointed int64
	// packed is how many live bytes fill a file, of those for which that is known because they were copied.
	packed map[uint32]int64
	// ballast is the size of the ballast, 0 if there is none.
	ballast atomic.Int64

	warned time.Time // when a round last failed and that was reported

	wanted   chan struct{} // holds one token
	touched  chan struct{} // holds one token
	touches  atomic.Bool   // something was changed since the last look
	quit     chan struct{}
	done     chan struct{}
	stopOnce sync.Once
}

func (u *upkeep) init() {
	u.wanted, u.touched = make(chan struct{}, 1), make(chan struct{}, 1)
	u.quit, u.done = make(chan struct{}), make(chan struct{})
	u.packed = make(map[uint32]int64)
}

// wake asks for a round, which begins after start. It does not block.
func (u *upkeep) wake() {
	select {
	case u.wanted <- struct{}{}:
	default:
	}
}

// changed asks for a look, soon, whether there is room to give back. It does not block and is cheap to repeat.
func (u *upkeep) changed() {
	if u.touches.Load() || u.touches.Swap(true) {
		return
	}
	select {
	case u.touched <- struct{}{}:
	default:
	}
}

// start begins the background goroutine.
func (u *upkeep) start(s *Store) {
	go func() {
		defer close(u.done)
		again, look := time.NewTimer(upkeepAgain), time.NewTimer(lookAfter)
		defer again.Stop()
		defer look.Stop()
		again.Stop()
		clock := time.NewTicker(recordEvery)
		defer clock.Stop()
		failed := false
		for {
			select {
			case <-clock.C:
				s.recordTime()
				continue
			case <-u.wanted:
			case <-again.C:
			case <-u.touched:
				look.Reset(lookAfter)
				continue
			case <-look.C:
				u.touches.Store(false)
				if s.keepBallast(); failed || !s.reclaimable() {
					continue
				}
			case <-u.quit:
				return
			}
			again.Stop()
			if failed = !s.maintain(); failed {
				again.Reset(upkeepAgain)
			}
		}
	}()
}

// stop ends it and waits for what it is doing.
func (u *upkeep) stop() {
	u.stopOnce.Do(func() { close(u.quit) })
	<-u.done
}

// stopping says that what is under way should come to an end.
func (u *upkeep) stopping() bool {
	select {
	case <-u.quit:
		return true
	default:
		return false
	}
}

// maintain does one round and says whether it succeeded. What fails is tried again; nothing acknowledged depends on it.
func (s *Store) maintain() bool {
	err := s.checkpoint()
	for merged := true; err == nil && merged; merged = merged && !s.upkeep.stopping() {
		merged, err = s.mergeAndPublish()
	}
	s.keepBallast()
	if err == nil || errors.Is(err, store.ErrUnknown) {
		return true // or never again
	}
	if now := s.o.Now(); now.Sub(s.upkeep.warned) >= warnEvery {
		s.upkeep.warned = now
		s.o.Events.warn("space cannot be reclaimed now, it is tried again: " + err.Error())
	}
	return false
}

func (s *Store) keepBallast() {
	s.upkeep.mu.Lock()
	defer s.upkeep.mu.Unlock()
	s.takeBallast()
}

// mergeAndPublish merges some files, if that makes room, and lets go of them.
func (s *Store) mergeAndPublish() (merged bool, err error) {
	s.upkeep.mu.Lock()
	defer s.upkeep.mu.Unlock()
	if merged, err = s.merge(); err != nil || !merged {
		return false, err
	}
	return true, s.checkpointLocked()
}

// reclaimable says whether a round would give room back: a sealed file has nothing live in it, or a merge is worth while.
func (s *Store) reclaimable() bool {
	s.upkeep.mu.Lock()
	defer s.upkeep.mu.Unlock()
	files := s.sealedFiles()
	if slices.ContainsFunc(files, func(f sealedFile) bool { return f.live == 0 }) {
		return true
	}
	chosen, _ := s.choose(files)
	return len(chosen.files) > 0
}

// release lets go of the sealed files that the published checkpoint neither replays nor refers to.
func (s *Store) release(sealed []uint32, needed map[uint32]bool) error {
	for _, file := range sealed {
		if needed[file] {
			continue
		}
		if err := s.letGo(file); err != nil {
			return err
		}
	}
	return nil
}

// letGo gives up a data file. upkeep.mu is held.
func (s *Store) letGo(file uint32) error {
	if err := s.journal.Release(file); err != nil {
		return fmt.Errorf("let go of data file %d: %w", file, err)
	}
	delete(s.upkeep.packed, file)
	s.space.forget()
	if f := s.o.Events.Recycled; f != nil {
		f(file)
	}
	return nil
}
