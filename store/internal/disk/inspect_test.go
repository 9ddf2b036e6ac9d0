package disk

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestInspectWarnsOfSyncsTooFast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := func(step time.Duration) func() time.Time {
		now := time.Unix(0, 0)
		return func() time.Time { now = now.Add(step); return now }
	}
	fast := func(warnings []string) bool {
		return strings.Contains(strings.Join(warnings, "\n"), "too fast to be real")
	}
	if got := Inspect(dir, clock(time.Microsecond)); !fast(got) {
		t.Errorf("syncs of 1 µs: %q, want a warning", got)
	}
	if got := Inspect(dir, clock(time.Millisecond)); fast(got) {
		t.Errorf("syncs of 1 ms: %q, want no warning about them", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("Inspect left %v behind, %v", left, err)
	}
}

func TestInspectWarnsOfMemory(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/dev/shm", "dabba") //nolint:usetesting // it has to be in memory
	if err != nil {
		t.Skipf("no tmpfs to look at: %v", err)
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	if got := strings.Join(Inspect(dir, time.Now), "\n"); !strings.Contains(got, "tmpfs") {
		t.Errorf("Inspect(%s) = %q, want a warning of tmpfs", dir, got)
	}
}

func TestInspectWarnsOfMissing(t *testing.T) {
	t.Parallel()
	if got := Inspect(t.TempDir()+"/none", time.Now); len(got) == 0 {
		t.Error("Inspect of a missing directory says nothing")
	}
}
