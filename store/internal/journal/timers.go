package journal

import (
	"math"
	"time"
)

// newTimers makes the two timers, stopped.
func (j *Journal) newTimers() {
	j.lazyTimer = time.AfterFunc(math.MaxInt64, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.due = len(j.line) > 0
		signal(j.wake)
	})
	j.syncTimer = time.AfterFunc(math.MaxInt64, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.syncArmed = false
		j.syncDue = true
		signal(j.wake)
	})
	j.lazyTimer.Stop()
	j.syncTimer.Stop()
}

// armSync lets a sync be due after the interval, counted from the first write it is for. j.mu is held.
func (j *Journal) armSync() {
	if j.syncArmed {
		return
	}
	j.syncArmed = true
	j.syncTimer.Reset(j.o.Interval)
}
