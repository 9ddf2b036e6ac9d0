package main

import (
	"sync/atomic"
	"time"
)

// devClock is the clock of a development server: the system's, moved ahead by whoever runs tests against the server. It
// is safe for concurrent use.
type devClock struct {
	system func() time.Time
	ahead  atomic.Int64 // nanoseconds
}

func (c *devClock) now() time.Time { return c.system().Add(time.Duration(c.ahead.Load())) }

// advance moves the clock and says what it shows then.
func (c *devClock) advance(d time.Duration) time.Time {
	c.ahead.Add(int64(d))
	return c.now()
}
