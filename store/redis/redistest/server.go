package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a server may take to answer after it was started.
const patience = 20 * time.Second

// Server is a redis-server process with an append-only file. It belongs to one goroutine.
type Server struct {
	// URL names it for as long as it lives, also over a restart.
	URL string

	dir     string
	args    []string
	process *exec.Cmd
}

// Start starts a server for one test that changes its settings, breaks its connections or ends it. Options are given to
// it as they are, after those that it has anyway. It ends with the test.
func Start(tb testing.TB, options ...string) *Server {
	tb.Helper()
	if _, err := exec.LookPath(program); err != nil {
		missing(tb)
	}
	s, err := launch(options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.stop)
	return s
}

// launch starts a server and waits until it answers.
func launch(options ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "dabba-redis-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "redis://" + net.JoinHostPort("127.0.0.1", port),
		dir: dir,
		args: append([]string{
			"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
			"--appendonly", "yes", "--appendfsync", "everysec", "--logfile", filepath.Join(dir, "log"),
		}, options...),
	}
	if err := s.run(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// run starts the process and waits until it has read its files.
func (s *Server) run() error {
	s.process = exec.Command(program, s.args...) //nolint:noctx,gosec // it ends with the test, or is killed by it; the arguments are the test's
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	if err := s.await(); err != nil {
		said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("start %s: %w; it said:\n%s", program, err, said)
	}
	return nil
}

// await returns when the server answers; the client tries again and again by itself.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // bounds the start of a process
	defer cancel()
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		return err
	}
	o.DialerRetries, o.DialerRetryTimeout = 1000, 20*time.Millisecond
	o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = 1000, 5*time.Millisecond, 50*time.Millisecond
	o.ContextTimeoutEnabled = true
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // only asked
	err = c.Ping(ctx).Err()
	if answer := redis.Error(nil); errors.As(err, &answer) && !strings.HasPrefix(answer.Error(), "LOADING") {
		return nil // it wants a password
	}
	return err
}

// Kill ends the process at once, as a crash does. Its files stay.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// Restart starts the process again after [Server.Kill], on the same port and files, and waits until it answers.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.run(); err != nil {
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
		tb.Fatalf("send %v to %s: %v", sig, program, err)
	}
}

func (s *Server) stop() {
	if s.process != nil && s.process.Process != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
