package segment

import (
	"context"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

const (
	// recordEvery is how often the clocks are recorded, also when nothing else happens.
	recordEvery = time.Minute
	// bootName bounds the name of a boot.
	bootName = 64
	// readingLen is how long the record of a reading is, and stepLen that of a step.
	readingLen = record.HeaderSize + model.ReadingLen + bootName
	stepLen    = record.HeaderSize + 24
)

// wall shows the wall clock.
func (s *Store) wall() time.Time {
	if s.o.Wall != nil {
		return s.o.Wall()
	}
	return s.o.Now()
}

func (s *Store) boot() (name string, up model.Millis) {
	if s.o.Boot == nil {
		return "", 0
	}
	name, d := s.o.Boot()
	return name[:min(len(name), bootName)], model.Millis(d / time.Millisecond)
}

// resumeTime continues queue time from the last that was recorded, plus the time for which the store was closed.
func (s *Store) resumeTime(l *loader) {
	wall := model.MillisOf(s.wall())
	if l.latest == 0 { // a new folder
		s.clock = model.NewClock(s.o.Now, s.wall, wall)
		return
	}
	var known model.Reading // an earlier version took the wall clock for queue time
	if l.clock != nil {
		known = *l.clock
	}
	since := wall - (l.latest + model.Millis(known.Ahead))
	gap := store.Gap{Wall: span(since)}
	now := l.latest + max(since, 0)
	if name, up := s.boot(); name != "" && name == known.Boot && up >= known.Up {
		gap.Measured = true
		now = max(known.At+up-known.Up, l.latest)
	}
	gap.Counted = span(now - l.latest)
	s.protected = known.Protected
	if gap.Implausible() {
		s.protected = now + model.Millis(store.Protection/time.Millisecond)
	}
	if s.protected > now {
		gap.Protected = span(s.protected - now)
	}
	s.clock = model.NewClock(s.o.Now, s.wall, now)
	if s.o.Events.Gap != nil && (gap.Implausible() || gap.Stepped()) {
		s.o.Events.Gap(gap)
	}
}

func span(ms model.Millis) time.Duration { return time.Duration(ms) * time.Millisecond }

// reading is what the clocks show now.
func (s *Store) reading() model.Reading {
	now, ahead := s.clock.Read()
	e := model.Reading{At: now, Ahead: ahead, Protected: s.protected}
	e.Boot, e.Up = s.boot()
	return e
}

// recordTime puts what the clocks show into the journal, for the next start. Nobody waits for it.
func (s *Store) recordTime() {
	if !s.journal.HasRoom(readingLen, false) {
		return // what is left is for acknowledgements, which have a time, too
	}
	s.append(seal(s.reading().Encode(room(readingLen)), typeClock, 0), false)
}

// follow is queue time for a call that changes a queue, which is locked. If messages wait for the wall clock, or are going to,
// the queue records first by how much that is ahead.
func (s *Store) follow(q *queue, waits bool) model.Millis {
	now, ahead := s.clock.Read()
	if q.state.Ahead() != ahead && (waits || q.state.Waits()) {
		q.last = s.append(seal(q.state.Step(now, ahead).Encode(room(stepLen)), typeStepped, q.id), true)
	}
	return now
}

// catchUp does the same before a call that only looks. If there is no room for the record the queue is shown as it was
// before the wall clock was set.
func (s *Store) catchUp(ctx context.Context, q *queue) {
	if !s.behind(q) || s.journal.Room(ctx, stepLen, true) != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != nil {
		s.follow(q, false)
	}
}

func (s *Store) behind(q *queue) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state != nil && q.state.Waits() && q.state.Ahead() != s.clock.Ahead()
}
