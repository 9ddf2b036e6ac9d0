package containers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// processes is the lab of processes on this machine.
type processes struct {
	program string
	version string // of redis-server
	folder  string // "" if the program was given
}

// newProcesses builds the program, unless DABBA_BINARY names one.
func newProcesses(ctx context.Context) (*processes, error) {
	said, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask redis-server for its version: %w", err)
	}
	p := &processes{program: os.Getenv("DABBA_BINARY"), version: regexp.MustCompile(`v=([0-9.]+)`).FindString(string(said))}
	if p.program != "" {
		return p, nil
	}
	if p.folder, err = os.MkdirTemp("", "dabba-lab-"); err != nil {
		return nil, err
	}
	p.program = filepath.Join(p.folder, "dabba")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", p.program, "./cmd/dabba")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		p.close()
		return nil, fmt.Errorf("build the program: %w\n%s", err, said)
	}
	return p, nil
}

// root is the folder of the repository.
const root = "../.."

func (p *processes) String() string {
	return fmt.Sprintf("processes (the program built here, redis-server %s)", p.version)
}

func (p *processes) close() {
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}

// processFleet is servers of [redistest].
type processFleet struct {
	address        string
	first, another *redistest.Server
}

func (p *processes) fleet(t *testing.T, o order) fleet {
	t.Helper()
	f := &processFleet{}
	switch o {
	case single:
		f.first = redistest.Start(t)
		f.address = f.first.URL + "/0"
	case replicated:
		r := redistest.StartReplicated(t, 1)
		f.address, f.first, f.another = r.URL, r.Master, r.Replicas[0]
	case sentinel:
		s := redistest.StartSentinel(t)
		f.address, f.first = s.URL, s.Master(t)
	case cluster:
		const masters, replicas = 3, 3
		c := redistest.StartCluster(t, masters, replicas)
		f.address, f.first, f.another = c.URL, c.Servers[0], c.Servers[masters]
	}
	return f
}

func (f *processFleet) url() string      { return f.address }
func (f *processFleet) master() machine  { return process{f.first} }
func (f *processFleet) replica() machine { return process{f.another} }

type process struct{ server *redistest.Server }

func (p process) kill(*testing.T)      { p.server.Kill() }
func (p process) pause(t *testing.T)   { t.Helper(); p.server.Freeze(t) }
func (p process) unpause(t *testing.T) { t.Helper(); p.server.Thaw(t) }

// program is a server of Dabba in a process of its own.
type program struct {
	cmd   *exec.Cmd
	at    string
	log   *output
	ended chan struct{}
}

func (p *processes) node(t *testing.T, on fleet) node {
	t.Helper()
	n := &program{
		cmd: exec.Command(p.program, "serve", "--addr", "127.0.0.1:0", "--store", on.url(), "--until-input-ends"),
		log: new(output), ended: make(chan struct{}),
	}
	n.cmd.Env = environment()
	n.cmd.Dir = t.TempDir()
	n.cmd.Stderr = n.log
	input, err := n.cmd.StdinPipe() // should this process die, the server stops
	if err != nil {
		t.Fatal(err)
	}
	banner, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := make(chan string, 1)
	go func() {
		defer close(n.ended)
		n.read(banner, printed)
		_ = n.cmd.Wait() // the state of the process says it all
		_ = input.Close()
	}()
	t.Cleanup(func() {
		n.kill(t)
		checkLog(t, n.log.String())
	})
	late := time.AfterFunc(patience, func() { _ = n.cmd.Process.Kill() })
	defer late.Stop()
	var ok bool
	if n.at, ok = <-printed; !ok {
		t.Fatalf("the server did not start; it said:\n%s", n.log)
	}
	awaitReady(t, n.at)
	return n
}

var printedURL = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// read passes on the address in what the server prints first.
func (n *program) read(banner io.Reader, printed chan<- string) {
	defer close(printed)
	lines := bufio.NewScanner(banner)
	for lines.Scan() {
		if at := printedURL.FindString(lines.Text()); at != "" {
			printed <- at
			break
		}
	}
	_, _ = io.Copy(io.Discard, banner)
}

// environment is that of this process without what would configure a server.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "DABBA_") {
			env = append(env, entry)
		}
	}
	return env
}

func (n *program) base() string { return n.at }

func (n *program) kill(*testing.T) {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

func (n *program) stop(t *testing.T) int {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
		return n.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the server did not end; it said:\n%s", n.log)
		return 0
	}
}

// output collects what a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// checkLog looks for what must never be in the log of a server, and shows the end of it when the test has failed.
func checkLog(t *testing.T, said string) {
	t.Helper()
	for _, bad := range []string{"panic", "DATA RACE", "fatal error", "runtime error"} {
		if strings.Contains(said, bad) {
			t.Errorf("the server said %q:\n%s", bad, said)
			return
		}
	}
	if t.Failed() && said != "" {
		const most = 5000
		t.Logf("the server said, in the end:\n%s", said[max(0, len(said)-most):])
	}
}
