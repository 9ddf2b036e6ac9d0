package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// cage is a control group whose processes the kernel kills when they take more memory than it allows.
type cage struct {
	t     testing.TB
	limit int64
	// dir is the group; empty where none can be made. Then the memory of the process is looked at instead.
	dir string
	// unified says that it is of version 2.
	unified bool
}

// newCage makes a group with this limit. That takes root and a hierarchy that may be written to.
func newCage(t testing.TB, limit int64) *cage {
	t.Helper()
	c := &cage{t: t, limit: limit}
	for _, root := range []struct {
		dir, limit string
		unified    bool
	}{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", false}, {"/sys/fs/cgroup", "memory.max", true}} {
		dir, err := os.MkdirTemp(root.dir, "dabba-test-") //nolint:usetesting // a group is a folder of this file system
		if err != nil {
			continue
		}
		if os.WriteFile(filepath.Join(dir, root.limit), []byte(strconv.FormatInt(limit, 10)), 0o600) != nil {
			_ = os.Remove(dir)
			continue
		}
		c.dir, c.unified = dir, root.unified
		t.Cleanup(func() {
			eventually(t, "the control group to be removed", func() bool { return os.Remove(dir) == nil })
		})
		return c
	}
	t.Logf("no control group can be made here: the resident memory is compared with the limit instead")
	return c
}

// start starts a server in the group and waits until it is ready.
func (c *cage) start(data string, args ...string) *server {
	c.t.Helper()
	s := launchWith(c.t, data, func(cmd *exec.Cmd) {
		if c.dir == "" {
			cmd.Env = append(cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", c.limit/10*9))
			return
		}
		shell := exec.Command("/bin/sh", append([]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(c.dir, "cgroup.procs")}, cmd.Args...)...)
		cmd.Path, cmd.Args = shell.Path, shell.Args
	}, args...)
	s.await()
	return s
}

// peak is the most memory that a server in the group had since the last call of it. With the group's own figure comes
// what the kernel keeps of files, which it gives back when memory is short; so the process's is what is shown.
func (c *cage) peak(s *server) int64 {
	peak := s.peak()
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0o600)
	return peak
}

// killed says whether the kernel has killed a process of the group for its memory.
func (c *cage) killed(peak int64) bool {
	if c.dir == "" {
		return peak > c.limit
	}
	file := "memory.oom_control"
	if c.unified {
		file = "memory.events"
	}
	b, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		c.t.Fatal(err)
	}
	_, after, found := strings.Cut(string(b), "oom_kill ")
	return found && !strings.HasPrefix(after, "0")
}
