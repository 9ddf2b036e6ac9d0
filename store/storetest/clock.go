package storetest

import (
	"strconv"
	"sync"
	"time"
)

// epoch is when every test starts. It is a whole number of ticks since 1970, so that the cases know which messages
// share a tick.
var epoch = time.UnixMilli(1_772_366_400_000).UTC()

// Clock is a machine's clocks, which stand still unless a test moves them. Safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	elapsed time.Duration // since epoch
	ahead   time.Duration // of the wall clock
	boots   int
	booted  time.Duration // what had elapsed when the machine was started
}

// NewClock returns a clock that shows the time at which all tests start.
func NewClock() *Clock { return &Clock{} }

// Now is the time of the wall clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return epoch.Add(c.elapsed + c.ahead)
}

// Elapsed is the same for as long as nobody sets the wall clock, and does not notice if somebody does. It is what a backend
// that knows elapsed time is given as its source of queue time.
func (c *Clock) Elapsed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return epoch.Add(c.elapsed)
}

// Boot names the boot of the machine, and says how long it has been up.
func (c *Clock) Boot() (string, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "boot-" + strconv.Itoa(c.boots), c.elapsed - c.booted
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("storetest: time passes forward; use Jump")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}

// Jump sets the wall clock forward or back, as an administrator or a bad time server would.
func (c *Clock) Jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Reboot starts the machine anew: what was up before is not comparable any more.
func (c *Clock) Reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boots, c.booted = c.boots+1, c.elapsed
}

// split returns another clock that shows the same time.
func (c *Clock) split() *Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Clock{elapsed: c.elapsed, ahead: c.ahead, boots: c.boots, booted: c.booted}
}
