//go:build !linux

package redis

import "time"

// monotonic is the clock of the machine that is never set.
func monotonic() func() time.Duration {
	begun := time.Now() //nolint:forbidigo // the clock of a process
	return func() time.Duration { return time.Since(begun) }
}
