package main

import (
	"sync/atomic"
	"time"
)

// clock is the two clocks of the process: elapsed time, which counts suspensions and never notices when somebody sets the
// wall clock, and the wall clock. Both can be moved on a development server. It is safe for concurrent use.
type clock struct {
	start time.Time // without a monotonic reading
	up    time.Duration
	boot  string
	// uptime is how long the machine has been up, suspensions included.
	uptime func() time.Duration
	// system shows the machine's wall clock.
	system func() time.Time

	ahead atomic.Int64 // by how much elapsed time, and with it the wall clock, was moved forward, in nanoseconds
	step  atomic.Int64 // by how much the wall clock alone was set
}

// newClock reads the machine's clocks. step is by how much the wall clock is set from the beginning.
func newClock(step time.Duration) *clock {
	boot, uptime := machineBoot(time.Now())
	c := &clock{start: time.Now().Round(0), up: uptime(), boot: boot, uptime: uptime, system: time.Now}
	c.step.Store(int64(step))
	return c
}

// now advances with elapsed time. Only its differences mean something.
func (c *clock) now() time.Time {
	return c.start.Add(c.uptime() - c.up + time.Duration(c.ahead.Load()))
}

// wall is what the wall clock shows.
func (c *clock) wall() time.Time {
	return c.system().Round(0).Add(time.Duration(c.ahead.Load() + c.step.Load()))
}

// credentials is the clock that tokens and signatures are checked by: the wall clock, as if elapsed time had never been moved,
// since those who sign have the machine's clock.
func (c *clock) credentials() time.Time {
	return c.system().Round(0).Add(time.Duration(c.step.Load()))
}

// machine names the boot of the machine and says how long it has been up.
func (c *clock) machine() (string, time.Duration) { return c.boot, c.uptime() }

// advance moves all time forward and says what the wall clock shows then.
func (c *clock) advance(d time.Duration) time.Time {
	c.ahead.Add(int64(d))
	return c.wall()
}

// set steps the wall clock alone and says what it shows then.
func (c *clock) set(d time.Duration) time.Time {
	c.step.Add(int64(d))
	return c.wall()
}
