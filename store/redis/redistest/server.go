package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a server may take to answer after it was started, and a fleet for anything.
const patience = 30 * time.Second

// Server is a redis-server process with an append-only file, by itself or a member of a fleet. It belongs to one
// goroutine.
type Server struct {
	// URL names it for as long as it lives, also over a restart.
	URL string
	// Name tells the members of a fleet apart: "redis-1" and so on, "sentinel-1" and so on.
	Name string
	// Addr is host:port as the other members and all clients know it: on a [Net] that of its proxy.
	Addr string

	listens string // host:port that the process listens on
	dir     string
	args    []string
	process *exec.Cmd
	net     *Net         // nil if others connect to it directly
	begun   func() error // nil, or done when it answers again
	down    bool         // it was killed
}

// Start starts a server for one test that changes its settings, breaks its connections or ends it. Options are given to
// it as they are, after those that it has anyway. It ends with the test.
func Start(tb testing.TB, options ...string) *Server {
	tb.Helper()
	if _, err := exec.LookPath(program); err != nil {
		missing(tb)
	}
	needClock(tb, options)
	s, err := launch(options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.stop)
	return s
}

// launch starts a server and waits until it answers.
func launch(options ...string) (*Server, error) {
	s, err := prepare("redis", options...)
	if err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// prepare makes a server that was not started yet: its folder and its port.
func prepare(name string, options ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "dabba-redis-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort(host, port)
	return &Server{
		URL: "redis://" + addr, Name: name, Addr: addr, listens: addr, dir: dir,
		args: append([]string{
			"--port", port, "--bind", host, "--dir", dir, "--save", "",
			"--appendonly", "yes", "--appendfsync", "everysec", "--logfile", filepath.Join(dir, "log"),
		}, options...),
	}, nil
}

// run starts the process and waits until it has read its files.
func (s *Server) run() error {
	if err := s.begin(); err != nil {
		return err
	}
	return s.await()
}

// begin starts the process.
func (s *Server) begin() error {
	var err error
	if s.process, err = s.command(); err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	s.down = false
	if s.net != nil {
		s.net.Join(s.Name, s.process.Process.Pid)
	}
	return nil
}

// await returns when the server answers; the client tries again and again by itself.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // bounds the start of a process
	defer cancel()
	c := redis.NewClient(&redis.Options{
		Addr: s.listens, DialerRetries: 1000, DialerRetryTimeout: 20 * time.Millisecond,
		MaxRetries: 1000, MinRetryBackoff: 5 * time.Millisecond, MaxRetryBackoff: 50 * time.Millisecond, ContextTimeoutEnabled: true,
	})
	defer c.Close() //nolint:errcheck // only asked
	err := c.Ping(ctx).Err()
	if answer := redis.Error(nil); errors.As(err, &answer) && !strings.HasPrefix(answer.Error(), "LOADING") {
		return nil // it wants a password, or is a replica without its master
	}
	if err != nil {
		return fmt.Errorf("start %s: %w; it said:\n%s", s.Name, err, s.said())
	}
	return nil
}

// said is the log of the process.
func (s *Server) said() string {
	said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(said)
}

// Kill ends the process at once, as a crash does. Its files stay.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	forgetClock(s.process.Process.Pid)
	s.down = true
}

// Restart starts the process again after [Server.Kill], on the same port and files, and waits until it answers.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	err := s.run()
	if err == nil && s.begun != nil {
		err = s.begun()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Freeze stops the process without ending it: its connections stay and say nothing. Thaw lets it go on.
func (s *Server) Freeze(tb testing.TB) { tb.Helper(); s.signal(tb, syscall.SIGSTOP) }

// Thaw lets a server go on after [Server.Freeze].
func (s *Server) Thaw(tb testing.TB) { tb.Helper(); s.signal(tb, syscall.SIGCONT) }

func (s *Server) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		tb.Fatalf("send %v to %s: %v", sig, s.Name, err)
	}
}

func (s *Server) stop() {
	if s.process != nil && s.process.Process != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.dir)
}
