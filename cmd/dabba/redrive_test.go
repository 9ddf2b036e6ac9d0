package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// dabba runs a client command and returns what it printed.
func dabba(t *testing.T, base, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("dabba", append(args, "--url", base)...)
	cmd.Stdin = strings.NewReader(input)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("dabba %s: %v: %s", strings.Join(args, " "), err, &complaints)
	}
	return string(out)
}

// TestRedriveGoesOnWithoutItsCommandAndAfterKill interrupts the command that follows a redrive, kills the server, starts
// it again and counts each message.
func TestRedriveGoesOnWithoutItsCommandAndAfterKill(t *testing.T) {
	t.Parallel()
	const messages = 1000
	data := filepath.Join(t.TempDir(), "data")
	p := serveForTest(t, "--data", data, "--log-level", "debug")
	createAt(t, p.base+"/v1/queues/from")
	createAt(t, p.base+"/v1/queues/to")
	var lines strings.Builder
	var want []string
	for i := range messages {
		body := fmt.Sprintf("message %d", i)
		want = append(want, body)
		fmt.Fprintln(&lines, body)
	}
	dabba(t, p.base, lines.String(), "send", "--queue", "from")

	said := newBuffer()
	follow := exec.Command("dabba", "redrive", "--url", p.base, "--queue", "from", "--to", "to", "--rate", "500")
	follow.Stderr = said
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, "redrive moved messages")
	p.stderr.await(t, "/v1/tasks/") // it looks
	if err := follow.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = follow.Wait() // that it failed is looked at next
	if code := follow.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(said.String(), "the server goes on moving messages") {
		t.Fatalf("the interrupted command ended with %d and %q; want %d and word that the server goes on", code, said, exitFailed)
	}
	_, id, _ := strings.Cut(said.String(), "--task ")
	id, _, _ = strings.Cut(id, ",")
	p.kill()

	p = serveForTest(t, "--data", data)
	if got := dabba(t, p.base, "", "redrive", "--task", id); !strings.HasPrefix(got, fmt.Sprintf("%d messages moved from from to to\n", messages)) {
		t.Errorf("the task after the kill: %q, want %d messages moved", got, messages)
	}
	got := strings.Split(strings.TrimSuffix(dabba(t, p.base, "", "receive", "--queue", "to", "--max", "1000", "--raw"), "\n"), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the target has %d messages, want %d, each once", len(got), len(want))
	}
	if left := dabba(t, p.base, "", "receive", "--queue", "from", "--max", "1000", "--raw"); left != "" {
		t.Errorf("messages are left in the source:\n%s", left)
	}
}
