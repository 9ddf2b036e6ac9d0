package segment

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// upkeepAgain is how long after a round that failed the next one begins.
const upkeepAgain = 5 * time.Second

// upkeep is the work in the background: a checkpoint whenever a data file was sealed, then merging and letting go.
type upkeep struct {
	// mu is held over a checkpoint or merge, I/O included; it guards published.
	mu        sync.Mutex
	published uint64 // number of the published checkpoint
	tried     uint64 // highest number of one that was written

	wanted   chan struct{} // holds one token
	quit     chan struct{}
	done     chan struct{}
	stopOnce sync.Once
}

func (u *upkeep) init() {
	u.wanted, u.quit, u.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
}

// wake asks for a round, which begins after start. It does not block.
func (u *upkeep) wake() {
	select {
	case u.wanted <- struct{}{}:
	default:
	}
}

// start begins the background goroutine.
func (u *upkeep) start(s *Store) {
	go func() {
		defer close(u.done)
		again := time.NewTimer(upkeepAgain)
		defer again.Stop()
		again.Stop()
		clock := time.NewTicker(recordEvery)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				s.recordTime()
				continue
			case <-u.wanted:
			case <-again.C:
			case <-u.quit:
				return
			}
			if again.Stop(); !s.maintain() {
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

// maintain does one round and says whether it succeeded. What fails is tried again; nothing acknowledged depends on it.
func (s *Store) maintain() bool {
	err := s.checkpoint()
	if err == nil {
		err = s.mergeAndPublish()
	}
	if err == nil || errors.Is(err, store.ErrUnknown) {
		return true // or never again
	}
	s.o.Events.warn("space cannot be reclaimed now, it is tried again: " + err.Error())
	return false
}

func (s *Store) mergeAndPublish() error {
	s.upkeep.mu.Lock()
	defer s.upkeep.mu.Unlock()
	merged, err := s.merge()
	if err != nil || !merged {
		return err
	}
	return s.checkpointLocked()
}

// release lets go of the sealed files that the published checkpoint neither replays nor refers to.
func (s *Store) release(sealed []uint32, needed map[uint32]bool) error {
	for _, file := range sealed {
		if needed[file] {
			continue
		}
		if err := s.journal.Release(file); err != nil {
			return fmt.Errorf("let go of data file %d: %w", file, err)
		}
		if f := s.o.Events.Recycled; f != nil {
			f(file)
		}
	}
	return nil
}
