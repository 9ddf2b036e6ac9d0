package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SettableClock is an option of [Start], and of what starts fleets, with which the clocks of the Redis servers can be set:
// [Server.SetClock]. It takes libfaketime, of the package faketime; without that a test is skipped, or fails as without a
// server.
const SettableClock = "--settable-clock"

// SetClock has the clock of a server show another time than that of the machine, from now on: by that much later, or earlier if
// it is negative. Its monotonic clock is right.
func (s *Server) SetClock(tb testing.TB, by time.Duration) {
	tb.Helper()
	if err := s.writeClock(by); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) writeClock(by time.Duration) error {
	next := s.clockFile() + ".next"
	text := strconv.FormatFloat(by.Seconds(), 'f', 3, 64)
	if by >= 0 {
		text = "+" + text
	}
	if err := os.WriteFile(next, []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.clockFile()) // the server reads it whenever it asks for the time
}

func (s *Server) clockFile() string { return s.file("clock") }

// libraries are what a program is started with so that its clock can be set. The allocator of Redis asks for the time before
// libfaketime is ready, so another one goes before it.
func libraries() (string, error) {
	fake, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(fake) == 0 {
		fake, _ = filepath.Glob("/usr/lib/faketime/libfaketime.so.1")
	}
	if len(fake) == 0 {
		return "", fmt.Errorf("no libfaketime: install the package faketime")
	}
	malloc, _ := filepath.Glob("/lib/*/libc_malloc_debug.so.0")
	return strings.Join(append(malloc[:min(len(malloc), 1)], fake[0]), " "), nil
}

// needClock ends a test that sets clocks if that cannot be.
func needClock(tb testing.TB, options []string) {
	tb.Helper()
	if !slices.Contains(options, SettableClock) {
		return
	}
	if _, err := libraries(); err != nil {
		missingClock(tb, err)
	}
}

// command is what starts a server.
func (s *Server) command() (*exec.Cmd, error) {
	args := slices.DeleteFunc(slices.Clone(s.args), func(a string) bool { return a == SettableClock })
	c := exec.Command(program, args...) //nolint:noctx,gosec // it ends with the test, or is killed by it; the arguments are the test's
	if len(args) == len(s.args) {
		return c, nil
	}
	with, err := libraries()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.clockFile()); err != nil {
		if err := s.writeClock(0); err != nil {
			return nil, err
		}
	}
	c.Env = append(os.Environ(), "LD_PRELOAD="+with, "FAKETIME_TIMESTAMP_FILE="+s.clockFile(), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1")
	return c, nil
}

// forgetClock removes what libfaketime keeps of a process.
func forgetClock(pid int) {
	for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
		_ = os.Remove(filepath.Join("/dev/shm", fmt.Sprintf(name, pid)))
	}
}
