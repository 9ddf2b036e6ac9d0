package redis

import (
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/wall"
)

// jitter is by how much the wall clock may differ from what is known of it, in milliseconds, before that is replaced by what
// it shows: the two clocks are read one after the other.
const jitter = 50

// wall is what the wall clock of this process shows.
func (s *Store) wall() time.Time {
	switch {
	case s.o.Wall != nil:
		return s.o.Wall()
	case s.o.Now != nil:
		return s.o.Now()
	}
	return time.Now() //nolint:forbidigo // the clock of the machine
}

// now is elapsed time in milliseconds, as far as this process knows.
func (s *Store) now() int64 {
	if s.o.Now != nil {
		return s.o.Now().UnixMilli()
	}
	return s.elapsed.now()
}

// ahead is by how much the wall clock is ahead of elapsed time. What leaves this package shows elapsed time by the wall clock as
// it is set now.
func (s *Store) ahead() wall.Ahead {
	known := s.wallAhead.Load()
	if a := s.wall().UnixMilli() - s.now(); a-known < jitter && known-a < jitter {
		return wall.Ahead(known)
	}
	for range 10 { // it does not count when the process was stopped between two readings
		before := s.now()
		a := s.wall().UnixMilli() - before
		if s.now()-before <= jitter/10 {
			s.wallAhead.Store(a)
			return wall.Ahead(a)
		}
	}
	return wall.Ahead(known)
}

// Clock implements [store.Store]. The wall clock is that of this process.
func (s *Store) Clock() store.Clock {
	now, ahead := s.now(), s.ahead()
	return store.Clock{
		Now: store.Instant(now), Wall: ahead.Time(now),
		Protected: time.Duration(max(s.elapsed.protected.Load()-now, 0)) * time.Millisecond,
	}
}
