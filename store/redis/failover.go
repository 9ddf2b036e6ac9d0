package redis

import (
	"context"
	"fmt"
	"time"
)

// Failover says that a process took the place of another one, or was started again: what was acknowledged shortly before
// may be lost. Or the same one has lost what it kept.
type Failover struct {
	// Server is the address of the server, or what sentinels call it.
	Server string
	// From and To tell the two processes apart.
	From, To string
	// Emptied says that it is one and the same, whose records were gone: somebody has emptied it while it ran, or a part of it.
	Emptied bool
	// At is when that was noticed first, by any node and by the clock of the server.
	At time.Time
	// Tags is how many of the 257 parts of the keys it concerns.
	Tags int
}

// Loss says what is lost of what this process was told was done.
type Loss struct {
	// Server is the address of the server, or what sentinels call it; empty if it cannot be found.
	Server string
	// Sends, Receives and Settles are messages, Appends records, Catalog changes of settings.
	Sends, Receives, Settles, Appends, Catalog int
	// Others is how many changes are lost for sure that other processes, or none that is still there, were told of.
	Others int
	// Partial says that there may be more: this process does not remember enough.
	Partial bool
}

// plus adds another loss.
func (l *Loss) plus(more Loss) {
	l.Sends += more.Sends
	l.Receives += more.Receives
	l.Settles += more.Settles
	l.Appends += more.Appends
	l.Catalog += more.Catalog
	l.Others += more.Others
	l.Partial = l.Partial || more.Partial
}

const (
	// countTime bounds counting.
	countTime = 30 * time.Second
	// countAgain is when it is tried again after it failed: soon after a failover servers may still take themselves for what
	// they were.
	countAgain = 200 * time.Millisecond
)

// failedOver reports what fence has found, and counts in the background what is lost for the tags of which an older bump
// was known.
func (s *Store) failedOver(f Failover, behind []int) {
	if s.o.Failover != nil {
		s.o.Failover(f)
	}
	if len(behind) == 0 {
		return
	}
	s.work.Go(func() {
		l, err := s.countAll(behind)
		if err != nil && s.life.Err() == nil {
			s.o.Warning(fmt.Sprintf("After a failover of Redis at %s it could not be counted what is lost: %v", f.Server, err))
			l.Partial = true
		}
		l.Server = f.Server
		if s.o.Lost != nil {
			s.o.Lost(l)
		}
	})
}

// countAll counts what is lost, again and again until all places have answered or too much time has passed. Then what it
// returns is part of it.
func (s *Store) countAll(tags []int) (Loss, error) {
	ctx, cancel := context.WithTimeout(s.life, countTime)
	defer cancel()
	var sum Loss
	for {
		l, err := s.countLosses(ctx, tags)
		if sum.plus(l); err == nil {
			return sum, nil
		}
		select {
		case <-ctx.Done():
			return sum, err
		case <-time.After(countAgain):
		}
	}
}
