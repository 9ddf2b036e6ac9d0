package redis

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the clock of the machine that is never set and also runs while the machine is suspended.
func monotonic() func() time.Duration {
	begun := time.Now() //nolint:forbidigo // the clock of a process, in case there is no better one
	return func() time.Duration {
		var t unix.Timespec
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
			return time.Since(begun) //nolint:forbidigo // as above
		}
		return time.Duration(t.Nano())
	}
}
