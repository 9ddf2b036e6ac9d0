package model

import (
	"math"
	"sync"
	"time"
)

// Clock is queue time: it goes on from the highest time recorded, at the pace of the monotonic clock, and never back.
// Safe for concurrent use.
type Clock struct {
	now   func() time.Time
	start time.Time
	base  Millis

	mu   sync.Mutex
	last Millis
}

// NewClock starts at the later of the wall clock and floor.
func NewClock(now func() time.Time, floor Millis) *Clock {
	start := now()
	base := max(Millis(start.UnixMilli()), floor)
	return &Clock{now: now, start: start, base: base, last: base}
}

// Now is the present queue time.
func (c *Clock) Now() Millis {
	at := c.base + Millis(c.now().Sub(c.start)/time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, at)
	return c.last
}

// Until is how long from the present queue time, which counts whole milliseconds, until a wall-clock time; negative when
// it has passed. What is further away than a duration can say is as far as it can say.
func (c *Clock) Until(wall time.Time) time.Duration {
	now := c.now()
	until, part := wall.Sub(now.Round(0)), now.Sub(c.start)%time.Millisecond
	return until + min(part, math.MaxInt64-max(until, 0))
}

// Time turns queue time into an instant for people.
func Time(at Millis) time.Time { return time.UnixMilli(int64(at)).UTC() }
