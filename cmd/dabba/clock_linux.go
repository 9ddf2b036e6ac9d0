package main

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machineBoot names this boot of the machine, and gives a clock that counts from it. Go's own monotonic clock stops while the
// machine is suspended, CLOCK_BOOTTIME does not. Without the name two readings of different processes cannot be compared.
func machineBoot(start time.Time) (string, func() time.Duration) {
	uptime := func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
			panic("read CLOCK_BOOTTIME: " + err.Error())
		}
		return time.Duration(t.Nano())
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return "", func() time.Duration { return time.Since(start) }
	}
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", uptime
	}
	return strings.TrimSpace(string(name)), uptime
}
