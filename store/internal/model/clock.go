package model

import (
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/wall"
)

// settles is by how much the wall clock may differ from what is known of it before that is given up for what it shows. Below
// it are only rounding, and the time between two readings.
const settles = 50

// Clock is the source of queue time and of the wall clock. Safe for concurrent use.
type Clock struct {
	now, wall func() time.Time
	start     time.Time // what now showed at base
	base      Millis

	mu    sync.Mutex
	last  Millis
	ahead Ahead
}

// Ahead is by how much the wall clock is ahead of queue time. It turns queue time into what people are shown.
type Ahead = wall.Ahead

// NewClock continues queue time from base. Only differences of what now shows count; wall shows the wall clock, nil means
// that now does.
func NewClock(now, wall func() time.Time, base Millis) *Clock {
	if wall == nil {
		wall = now
	}
	c := &Clock{now: now, wall: wall, start: now(), base: base, last: base}
	if ahead := Ahead(MillisOf(wall()) - base); far(ahead) {
		c.ahead = ahead
	}
	return c
}

// Now is queue time: it never goes back.
func (c *Clock) Now() Millis {
	now, _ := c.Read()
	return now
}

// Ahead is by how much the wall clock is ahead.
func (c *Clock) Ahead() Ahead {
	_, ahead := c.Read()
	return ahead
}

// Read reads both clocks.
func (c *Clock) Read() (Millis, Ahead) {
	at := c.elapsed()
	measured := Ahead(MillisOf(c.wall()) - at)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, at)
	if far(measured - c.ahead) {
		c.ahead = c.measure(c.ahead)
	}
	return c.last, c.ahead
}

func (c *Clock) elapsed() Millis { return c.base + Millis(c.now().Sub(c.start)/time.Millisecond) }

func far(a Ahead) bool { return a >= settles || a <= -settles }

// measure is by how much the wall clock is ahead. It does not count when the process was stopped between two readings.
func (c *Clock) measure(known Ahead) Ahead {
	for range 10 {
		before := c.elapsed()
		wall := MillisOf(c.wall())
		if c.elapsed()-before <= settles/10 {
			return Ahead(wall - before)
		}
	}
	return known
}

// Show is what the clocks of a store show, given until when nothing is removed.
func (c *Clock) Show(protected Millis) store.Clock {
	now, ahead := c.Read()
	return store.Clock{
		Now: store.Instant(now), Wall: ahead.Show(Time(now)), Protected: time.Duration(max(protected-now, 0)) * time.Millisecond,
	}
}

// Time turns queue time into an instant, which is what the wall clock showed only if that is not ahead.
func Time(at Millis) time.Time { return time.UnixMilli(int64(at)).UTC() }

// ceilMillis is an instant in milliseconds, rounded up.
func ceilMillis(t time.Time) Millis {
	ms := MillisOf(t)
	if Time(ms).Before(t) {
		ms++
	}
	return ms
}
