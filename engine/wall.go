package engine

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// wallEvery is how often the wall clock is compared with elapsed time. It also is how late timers can be after the machine was
	// suspended, in which the timers of the process stand still.
	wallEvery = time.Second
	// wallNoise is what two comparisons may differ by though nobody has set the clock.
	wallNoise = 100 * time.Millisecond
	// doubtFor is for how long a node replaces fire times after there was a reason.
	doubtFor = 10 * time.Second
)

// wall is what the wall clock shows.
func (e *Engine) wall() time.Time { return e.store.Clock().Wall.UTC() }

// instants is a duration in queue time, rounded up.
func instants(d time.Duration) store.Instant {
	return store.Instant((d + time.Millisecond - 1) / time.Millisecond)
}

// showStamp is a time that was kept in queue time, as the wall clock shows it now; without that, as it was shown then.
func showStamp(now store.Clock, at store.Instant, wall time.Time) time.Time {
	if at == 0 {
		return wall
	}
	return now.Show(at).UTC()
}

// instantOf is a time that was kept, in queue time; without that, by the wall clock as it is set now.
func instantOf(now store.Clock, at store.Instant, wall time.Time) store.Instant {
	if at == 0 && !wall.IsZero() {
		return now.Instant(wall)
	}
	return at
}

// stepPrecision is what a measured step is rounded to: queue time is read in whole milliseconds, a moment apart from the wall clock.
const stepPrecision = 10 * time.Millisecond

// watchWall begins to compare the clocks. It is called by the clock, once it has begun.
func (e *Engine) watchWall() {
	e.wallDue = newAlarm(func() {
		e.compareClocks()
		e.clock.soonest(e.wallDue, e.clock.in(wallEvery))
	})
	e.wallAhead.Store(int64(aheadOf(e.store.Clock())))
	e.clock.soonest(e.wallDue, e.clock.in(wallEvery))
}

// aheadOf is by how much the wall clock is ahead of queue time.
func aheadOf(c store.Clock) time.Duration { return c.Wall.Sub(time.UnixMilli(int64(c.Now))) }

// compareClocks finds out whether the wall clock was set since the last time, and has what goes by it looked at again.
func (e *Engine) compareClocks() {
	now := e.store.Clock()
	by := aheadOf(now) - time.Duration(e.wallAhead.Swap(int64(aheadOf(now))))
	if by.Abs() < wallNoise {
		return
	}
	if by.Abs() >= store.StepTolerance {
		e.doubtFireTimes(now)
	}
	if by.Abs() >= store.StepTolerance && e.events.ClockStepped != nil {
		e.events.ClockStepped(ClockStep{At: now.Wall.UTC(), By: by.Round(stepPrecision)})
	}
	e.followWall()
}

// doubtFireTimes lets this engine replace fire times of schedules for a while, since a wall clock was set, or one that is gone may
// have been wrong.
func (e *Engine) doubtFireTimes(now store.Clock) { e.doubted.Store(int64(now.Now)) }

// doubtsFireTimes says whether it may. Nodes whose clocks disagree would replace each other's for ever.
func (e *Engine) doubtsFireTimes(now store.Clock) bool {
	return !e.shared() || now.Now-store.Instant(e.doubted.Load()) <= instants(doubtFor)
}

// followWall looks again at what goes by the wall clock: schedules, pauses, and messages that wait for it. It does not wait.
func (e *Engine) followWall() {
	e.timetable.survey.ring()
	for q := range e.catalog.all() {
		q.line.signal()
		e.janitor.add(q)
	}
}

// ClockStep says that the wall clock was set.
type ClockStep struct {
	// At is what it showed after that, By how far it was set: forward, or back if it is negative.
	At time.Time
	By time.Duration
}

// ClockState is what the clocks of the engine's store show.
type ClockState struct {
	// Wall is the wall clock, Protected how long retention and times to live still remove nothing.
	Wall      time.Time
	Protected time.Duration
}

// Clock reads the clocks.
func (e *Engine) Clock() ClockState {
	c := e.store.Clock()
	return ClockState{Wall: c.Wall.UTC(), Protected: c.Protected}
}
