package integration

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a process under test may take for anything. It only matters when something is broken.
const patience = 60 * time.Second

// server is a dabba serve in a process of its own.
type server struct {
	// base is its address as a URL, known once it is ready.
	base string

	t       testing.TB
	cmd     *exec.Cmd
	started time.Time
	log     *output
	// printed gets the address from the banner and is closed when standard output ends.
	printed chan string
	ended   chan struct{}
	// data is the folder, harmed whether the test damages it.
	data   string
	harmed bool
}

// lastOn is the last server that was launched on a folder.
var lastOn sync.Map

// launch starts a server on a free port and a folder, and returns at once. Journal files are small, so that they fill
// often. It ends with the test.
func launch(t testing.TB, data string, args ...string) *server {
	t.Helper()
	return launchWith(t, data, func(*exec.Cmd) {}, args...)
}

// launchWith is launch of a command that is changed before it starts.
func launchWith(t testing.TB, data string, change func(*exec.Cmd), args ...string) *server {
	t.Helper()
	given := []string{"serve", "--addr", "127.0.0.1:0", "--data", data, "--journal-size", "1MiB", "--until-input-ends"}
	s := &server{
		t:       t,
		cmd:     exec.Command(dabba, append(given, args...)...),
		log:     newOutput(),
		printed: make(chan string, 1),
		ended:   make(chan struct{}),
		data:    data,
	}
	lastOn.Store(data, s)
	s.cmd.Env = environment()
	s.cmd.Dir = filepath.Dir(data)
	s.cmd.Stderr = s.log
	// Should this process die, the server stops: its input ends.
	input, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	banner, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	change(s.cmd)
	s.started = time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	go func() {
		defer close(s.ended)
		s.readBanner(banner)
		_ = s.cmd.Wait() // the state of the process says it all
		_ = input.Close()
	}()
	t.Cleanup(func() {
		s.kill()
		s.check()
		if last, _ := lastOn.Load(data); last == s {
			s.fsck()
		}
	})
	return s
}

var printedURL = regexp.MustCompile(`http://[^/\s]+`)

func (s *server) readBanner(r io.Reader) {
	defer close(s.printed)
	lines := bufio.NewScanner(r)
	found := false
	for lines.Scan() {
		if base := printedURL.FindString(lines.Text()); base != "" && !found {
			found = true
			s.printed <- base
		}
	}
}

// start launches a server and waits until it is ready.
func start(t testing.TB, data string, args ...string) *server {
	t.Helper()
	s := launch(t, data, args...)
	s.await()
	return s
}

// await returns when the server is ready, and how long that took since its process was started.
func (s *server) await() time.Duration {
	s.t.Helper()
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	base, ok := <-s.printed
	if !ok {
		<-s.ended
		s.t.Fatalf("the server ended with %v before it was ready; it said:\n%s", s.cmd.ProcessState, s.log)
	}
	s.base = base
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := plain.Get(s.base + "/readyz")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return time.Since(s.started)
			}
		}
		select {
		case <-tick.C:
		case <-s.ended:
			s.t.Fatalf("the server ended with %v before it was ready; it said:\n%s", s.cmd.ProcessState, s.log)
		}
	}
}

// plain is a client that keeps no connections.
var plain = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// kill ends the process like a crash, and returns when it is gone. On one that has ended it does nothing.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// signal sends a signal to the process.
func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v to the server: %v; it said:\n%s", sig, err, s.log)
	}
}

// wait returns the exit code of a server that ends by itself, -1 after a signal.
func (s *server) wait() int {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatalf("the server did not end; it said:\n%s", s.log)
		return 0
	}
}

// stop ends the server in good order.
func (s *server) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		s.t.Errorf("after SIGTERM the server ended with %d, want 0; it said:\n%s", code, s.log)
	}
}

// check looks for what must never be in a log.
func (s *server) check() {
	said := s.log.String()
	for _, bad := range []string{"panic", "DATA RACE", "fatal error", "runtime error", "misspelled"} {
		if strings.Contains(said, bad) {
			s.t.Errorf("the server said %q:\n%s", bad, said)
			return
		}
	}
	if s.t.Failed() && said != "" {
		const most = 5000
		s.t.Logf("the server said, in the end:\n%s", said[max(0, len(said)-most):])
	}
}

// fsck looks through the folder of a server that has ended, unless the test damages it: however it ended, nothing in it
// is damaged.
func (s *server) fsck() {
	s.t.Helper()
	if files, err := filepath.Glob(filepath.Join(s.data, "*.journal")); err != nil || len(files) == 0 || s.harmed {
		return // it was never started, or keeps its data elsewhere
	}
	said, err := exec.Command(dabba, "fsck", s.data).CombinedOutput()
	if err != nil {
		const most = 5000
		s.t.Errorf("fsck %s: %v:\n%s", s.data, err, said[max(0, len(said)-most):])
	}
}

// refused runs a command that must fail with a code, and returns its last line, which says why.
func refused(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(dabba, args...)
	cmd.Env = environment()
	said := newOutput()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != code {
		t.Fatalf("dabba %s: %v, want exit code %d; it said:\n%s", strings.Join(args, " "), err, code, said)
	}
	lines := strings.Split(strings.TrimRight(said.String(), "\n"), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "dabba: ") {
		t.Fatalf("dabba %s said:\n%s\nwant the last line to say why it failed", strings.Join(args, " "), said)
	}
	return last
}

// output collects what a process writes.
type output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // closed and replaced by each write
}

func newOutput() *output { return &output{written: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.written)
	o.written = make(chan struct{})
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// await returns when the text was written.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		o.mu.Lock()
		found, written := strings.Contains(o.b.String(), text), o.written
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-written:
		case <-late:
			t.Fatalf("%q was not written, only:\n%s", text, o)
		}
	}
}
