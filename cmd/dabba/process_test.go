package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// deadline is how long a process under test may take for anything. It only matters when something is broken.
const deadline = 60 * time.Second

// process is a dabba serve that runs.
type process struct {
	cmd          *exec.Cmd
	base, banner string
	stderr       *buffer
	ended        func() int
}

// startProcess starts a server and returns when it has printed all that it prints.
func startProcess(cmd *exec.Cmd) (*process, error) {
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stderr: newBuffer()}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		p.banner += lines.Text() + "\n"
		if at := printedURL.FindString(lines.Text()); at != "" && p.base == "" {
			p.base = at
		}
		if strings.Contains(lines.Text(), "/receive") || strings.Contains(lines.Text(), "receive-message") {
			break
		}
	}
	late.Stop()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, output)
	}()
	p.ended = sync.OnceValue(func() int {
		<-drained
		err := cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		}
		return 0
	})
	if p.base == "" {
		return nil, fmt.Errorf("the server ended with %d: %s", p.ended(), p.stderr)
	}
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.wait()
}

// wait returns the exit code; -1 after a signal.
func (p *process) wait() int {
	late := time.AfterFunc(deadline, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	return p.ended()
}

// serveForTest starts a server that ends with the test.
func serveForTest(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command("dabba", append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir = t.TempDir()
	p, err := startProcess(cmd)
	if err != nil {
		t.Fatalf("start a server: %v", err)
	}
	t.Cleanup(p.kill)
	return p
}

// buffer collects what a process writes and lets a test wait for it.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	b       bytes.Buffer
}

func newBuffer() *buffer {
	b := &buffer{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// await returns when the text was written, or fails the test after the deadline.
func (b *buffer) await(t *testing.T, text string) {
	t.Helper()
	if !b.has(text) {
		t.Fatalf("%q was not written, only:\n%s", text, b)
	}
}

// has waits until the text was written, at most for the deadline, and says whether it was.
func (b *buffer) has(text string) bool {
	late := time.AfterFunc(deadline, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed.Broadcast()
	})
	defer late.Stop()
	end := time.Now().Add(deadline)
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.b.String(), text) {
		if time.Now().After(end) {
			return false
		}
		b.changed.Wait()
	}
	return true
}
