package segment

import (
	"context"
	"fmt"
	"sync"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// freeMargin is kept free beside two journal files, so that acknowledgements, checkpoints and merges still find room
// when sends are refused.
const freeMargin = 64 << 20

// recheck is how many bytes are let in before the disk is looked at again, however soon that is.
const recheck = freeMargin / 4

// space remembers whether the disk has room, looked up once a second or after recheck bytes.
type space struct {
	mu      sync.Mutex
	checked model.Millis
	since   int // bytes let in since then
	err     error
}

// admit lets in a change that adds something: it waits until the journal has room for n bytes in memory, and refuses
// with [store.ErrFull] when the disk is nearly full. It recovers by itself.
func (s *Store) admit(ctx context.Context, n int) error {
	if err := s.hasSpace(n); err != nil {
		return err
	}
	return s.journal.Room(ctx, n, false)
}

func (s *Store) hasSpace(n int) error {
	if known, err := s.space.known(s.clock.Now(), n); known {
		return err
	}
	err := s.lookUpSpace()
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	s.space.err = err
	return err
}

// known says what was found last, and that n bytes are to be let in; or that it is for the caller to look again.
func (sp *space) known(now model.Millis, n int) (bool, error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.since += n
	if now < sp.checked+1000 && sp.since < recheck {
		return true, sp.err
	}
	sp.checked, sp.since = now, 0
	return false, nil
}

func (s *Store) lookUpSpace() error {
	free, err := s.fs().Free(s.o.Dir)
	if err != nil {
		return fmt.Errorf("look up free space: %w", err)
	}
	least := 2*s.o.FileSize + freeMargin - s.journal.Kept()
	if free >= least {
		return nil
	}
	// What was consumed since the last data file was full has not been let go of yet, and with sends refused the next
	// one may never be.
	s.upkeep.wake()
	return fmt.Errorf("%w: %d MiB free in %s, sends need %d; consume messages or free disk space",
		store.ErrFull, free>>20, s.o.Dir, least>>20)
}
