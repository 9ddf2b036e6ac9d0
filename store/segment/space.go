package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
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

// forget lets the next send look at the disk again.
func (sp *space) forget() {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.since = recheck
}

func (s *Store) lookUpSpace() error {
	free, err := s.fs().Free(s.o.Dir)
	if err != nil {
		return fmt.Errorf("look up free space: %w", err)
	}
	least := s.leastFree()
	if free >= least {
		return nil
	}
	s.upkeep.changed() // what others freed on the disk may be enough for a merge
	return fmt.Errorf("%w: %d MiB free in %s, sends need %d; consume messages or free disk space",
		store.ErrFull, free>>20, s.o.Dir, least>>20)
}

// leastFree is how much room has to be free for sends to be accepted, beside what is kept back already.
func (s *Store) leastFree() int64 {
	return 2*s.o.FileSize + freeMargin - s.journal.Kept() - s.upkeep.ballast.Load()
}

// policy is what a merge may take. There is room for sends, or only until the next data file is full, or none; what can be
// copied is all there is but for what the checkpoint takes that follows. upkeep.mu is held.
func (s *Store) policy() policy {
	p := policy{share: shareOfRoom, room: s.o.FileSize}
	free, err := s.fs().Free(s.o.Dir)
	if err != nil {
		return p
	}
	p.most = max(0, free+s.journal.Kept()+s.upkeep.ballast.Load()-s.checkpointRoom())
	switch least := s.leastFree(); {
	case free < least:
		p.share = shareFull
	case free < least+s.o.FileSize:
		p.share = shareNearFull
	}
	return p
}

// checkpointRoom is what a checkpoint takes up, with what belongs to it. upkeep.mu is held.
func (s *Store) checkpointRoom() int64 {
	const names = 16 * record.BlockSize // CURRENT, the directory, the header and the end of a merged file
	return s.upkeep.checkpointed + s.upkeep.checkpointed/4 + names
}

// makeRoomFor gives up what is kept back if a merge could not copy n bytes otherwise. upkeep.mu is held.
func (s *Store) makeRoomFor(n int64) error {
	for _, give := range []func() (int64, error){s.journal.GiveBack, s.giveBallast} {
		free, err := s.fs().Free(s.o.Dir)
		if err != nil {
			return err
		}
		if free >= n+s.checkpointRoom() {
			return nil
		}
		if _, err := give(); err != nil {
			return err
		}
	}
	return nil
}

// squeeze does what needs room. While there is none it gives up what can be, in the order in which it is missed least:
// data files without anything live, files to be used again, the ballast, and in the end the file that is to follow the
// active one, if a data file can be let go of afterwards, of which the next is made. upkeep.mu is held.
func (s *Store) squeeze(do func() error) error {
	err := do()
	for _, give := range []func() (int64, error){s.giveDead, s.journal.GiveBack, s.giveBallast, s.giveSpare} {
		if !disk.NoSpace(err) {
			break
		}
		given, failed := give()
		if failed != nil {
			return errors.Join(err, failed)
		}
		if given > 0 {
			err = do()
		}
	}
	s.journal.Prepare()
	return err
}

// giveDead lets go of files although the published checkpoint refers to them: what was in them has left since, and the
// journal after the checkpoint says so. It returns how many bytes that gave.
func (s *Store) giveDead() (given int64, err error) {
	first := s.journal.Started()
	var dead []sealedFile
	for _, f := range s.sealedFiles() {
		if f.live == 0 && (f.merged || f.number < first) {
			dead = append(dead, f)
		}
	}
	if len(dead) == 0 {
		return 0, nil
	}
	if err := s.journal.Sync(); err != nil {
		return 0, err
	}
	for _, f := range dead {
		if err := s.letGo(f.number); err != nil {
			return given, err
		}
		given += f.disk
	}
	return given, nil
}

func (s *Store) giveSpare() (int64, error) {
	gain := slices.ContainsFunc(s.sealedFiles(), func(f sealedFile) bool { return f.live == 0 && f.disk >= s.o.FileSize })
	if !gain {
		return 0, nil
	}
	return s.journal.GiveSpare()
}
