package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/storetest"
)

// server is the one that all tests of the package share; the first that needs it starts it.
var server struct {
	once sync.Once
	url  string
	skip string // why there is none
	stop func()
	used atomic.Int64 // prefixes given out
}

func TestMain(m *testing.M) {
	m.Run()
	if server.stop != nil {
		server.stop()
	}
}

// serverURL is that of DABBA_TEST_REDIS, or of a redis-server process. Without either the test is skipped, unless
// DABBA_REQUIRE_REDIS=1 makes that a failure.
func serverURL(t *testing.T) string {
	t.Helper()
	server.once.Do(func() {
		if server.url = os.Getenv("DABBA_TEST_REDIS"); server.url != "" {
			return
		}
		url, stop, err := startServer()
		server.url, server.stop = url, stop
		if err != nil {
			server.skip = fmt.Sprintf("no Redis to test with: %v; install redis-server, or name a server in DABBA_TEST_REDIS", err)
		}
	})
	if server.skip != "" {
		if os.Getenv("DABBA_REQUIRE_REDIS") == "1" {
			t.Fatal(server.skip)
		}
		t.Skip(server.skip)
	}
	return server.url
}

// startServer starts a redis-server on a free port with an append-only file, in a folder of its own.
func startServer(options ...string) (url string, stop func(), err error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "dabba-redis-")
	if err != nil {
		return "", nil, err
	}
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	process := exec.Command(binary, append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--logfile", filepath.Join(dir, "log"),
	}, options...)...)
	if err := process.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		_ = os.RemoveAll(dir)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := awaitServer(addr); err != nil {
		stop()
		return "", nil, err
	}
	return address(port), stop, nil
}

// address is the URL of a server on a local port.
func address(port int) string { return "redis://127.0.0.1:" + strconv.Itoa(port) }

// running is a server that one test has for itself.
type running struct {
	url    string
	client *redis.Client
}

// ownServer starts a server for a test that changes its settings or breaks its connections.
func ownServer(t *testing.T, options ...string) running {
	t.Helper()
	serverURL(t) // which skips the test when there is none
	url, stop, err := startServer(options...)
	if err != nil {
		t.Fatalf("start a redis-server for this test: %v", err)
	}
	t.Cleanup(stop)
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	s := running{url, redis.NewClient(o)}
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

// set changes a setting of the server.
func (s running) set(t *testing.T, name, value string) {
	t.Helper()
	if err := s.client.ConfigSet(t.Context(), name, value).Err(); err != nil {
		t.Fatalf("CONFIG SET %s %s: %v", name, value, err)
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// awaitServer waits until a server that was just started answers; the client tries again and again by itself.
func awaitServer(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := redis.NewClient(&redis.Options{
		Addr: addr, DialerRetries: 1000, DialerRetryTimeout: 20 * time.Millisecond, MaxRetries: 100, ContextTimeoutEnabled: true,
	})
	defer c.Close() //nolint:errcheck // only asked
	return c.Ping(ctx).Err()
}

// freshPrefix begins the keys of one store, which are removed with the test.
func freshPrefix(t *testing.T, url string) string {
	t.Helper()
	prefix := fmt.Sprintf("test:%d:%d:", os.Getpid(), server.used.Add(1))
	t.Cleanup(func() { removeAll(t, url, prefix) })
	return prefix
}

// removeAll removes all keys with a prefix.
func removeAll(t *testing.T, url, prefix string) {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // nothing is kept
	ctx := context.WithoutCancel(t.Context())
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = c.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			t.Errorf("remove the keys %s*: %v", prefix, err)
		}
		if cursor = next; cursor == 0 || err != nil {
			return
		}
	}
}

// open opens a store that is closed with the test.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("Open(%+v) = %v, want nil", o, err)
	}
	return s
}

// harness runs the suite of all backends on a server.
func harness(url string) storetest.Harness {
	return storetest.Harness{
		Open: func(t *testing.T, c *storetest.Clock) store.Store {
			return open(t, Options{URL: url, Prefix: freshPrefix(t, url), Now: c.Now})
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			before := s.(*Store)
			if err := before.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
				t.Fatalf("Close() = %v, want nil", err)
			}
			return open(t, before.o)
		},
	}
}

func TestContract(t *testing.T) {
	storetest.Run(t, harness(serverURL(t)))
}
