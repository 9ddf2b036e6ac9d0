package store

import "time"

// Instant is a moment of queue time, in milliseconds. It may be kept: it means the same after a restart, and in every
// process that shares the store. What the wall clock showed then is said by [Clock.Show].
type Instant int64

// Clock is what the two clocks of a store show at one moment: see the package's section on time.
type Clock struct {
	// Now is queue time.
	Now Instant
	// Wall is what the wall clock shows. All processes that share a store see the same one.
	Wall time.Time
	// Protected is for how long retention and times to live still remove nothing, because the time during which the store
	// was closed had to be guessed and the guess is implausible; 0 otherwise.
	Protected time.Duration
}

// Show is what the wall clock, as it is set now, showed or will show at an instant.
func (c Clock) Show(at Instant) time.Time {
	return c.Wall.Add(time.Duration(at-c.Now) * time.Millisecond)
}

// Instant is when the wall clock, as it is set now, showed or will show a time, rounded up to a millisecond.
func (c Clock) Instant(wall time.Time) Instant {
	return c.Now + Instant(-(c.Wall.Sub(wall) / time.Millisecond))
}

// Gap is what a store found out, when it was opened, about the time since it was last open.
type Gap struct {
	// Counted is what went by in queue time, Wall by the wall clock, which is negative if that was put back meanwhile.
	Counted, Wall time.Duration
	// Measured says that Counted comes from the machine's boot clock; otherwise it is that of the wall clock, at least zero.
	Measured bool
	// Protected is for how long retention and times to live remove nothing from now on.
	Protected time.Duration
}

const (
	// PlausibleGap is the longest gap that is believed without a measurement.
	PlausibleGap = time.Hour
	// Protection is for how long retention and times to live remove nothing after an implausible gap.
	Protection = 15 * time.Minute
	// StepTolerance is by how much the wall clock may differ from elapsed time before it counts as stepped. Clocks that are
	// slewed, as time servers do with small corrections, do not differ at all: both clocks of the kernel are slewed together.
	StepTolerance = 500 * time.Millisecond
)

// Stepped says that the wall clock was set while the store was closed, as far as that is known.
func (g Gap) Stepped() bool { return g.Step().Abs() >= StepTolerance }

// Step is how far the wall clock was set while the store was closed: forward, or back if it is negative. It is an estimate
// unless the gap was measured.
func (g Gap) Step() time.Duration { return g.Wall - g.Counted }

// Implausible says that the length of the gap had to be taken from the wall clock, and is negative or very long.
func (g Gap) Implausible() bool { return !g.Measured && (g.Wall < 0 || g.Wall > PlausibleGap) }
