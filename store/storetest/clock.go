package storetest

import (
	"sync"
	"time"
)

// epoch is when every test starts. It is a whole number of ticks since 1970, so that the cases know which messages
// share a tick.
var epoch = time.UnixMilli(1_772_366_400_000).UTC()

// Clock stands still unless a test moves it. Safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows the time at which all tests start.
func NewClock() *Clock { return &Clock{now: epoch} }

// Now is the time of the wall clock. It is what a backend is given as its source of time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("storetest: time passes forward; use Jump")
	}
	c.Jump(d)
}

// Jump sets the wall clock forward or back, as an administrator or a bad time server would.
func (c *Clock) Jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// split returns another clock that shows the same time.
func (c *Clock) split() *Clock { return &Clock{now: c.Now()} }
