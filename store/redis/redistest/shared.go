package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// program is what a server is started with.
const program = "redis-server"

// shared is the server of all tests of one package; the first that needs it starts it.
var shared struct {
	once   sync.Once
	url    string
	failed error
	server *Server
	used   atomic.Int64 // prefixes given out
}

// Shared is the URL of a server for all tests of a package: that of DABBA_TEST_REDIS, or a process, which [Stop] ends.
// Tests keep apart by the prefix of their keys, see [Prefix].
func Shared(tb testing.TB) string {
	tb.Helper()
	shared.once.Do(func() {
		if shared.url = os.Getenv("DABBA_TEST_REDIS"); shared.url != "" {
			return
		}
		if _, err := exec.LookPath(program); err != nil {
			return
		}
		s, err := launch()
		if err != nil {
			shared.failed = err
			return
		}
		shared.server, shared.url = s, s.URL
	})
	if shared.failed != nil {
		tb.Fatal(shared.failed)
	}
	if shared.url == "" {
		missing(tb)
	}
	return shared.url
}

// Stop ends the process that [Shared] has started, if any. TestMain calls it last.
func Stop() {
	if shared.server != nil {
		shared.server.stop()
	}
}

// missing ends a test that has no server.
func missing(tb testing.TB) {
	tb.Helper()
	lack(tb, "no Redis to test with: install redis-server, or name a server in DABBA_TEST_REDIS")
}

// missingClock ends a test that would set the clock of a server and cannot.
func missingClock(tb testing.TB, err error) {
	tb.Helper()
	lack(tb, err.Error())
}

// lack ends a test that has not what it takes.
func lack(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("DABBA_REQUIRE_REDIS") != "" || os.Getenv("CI") != "" {
		tb.Fatal(what)
	}
	tb.Skip(what)
}

// Prefix begins the keys of one test on a server; they are removed with it.
func Prefix(tb testing.TB, url string) string {
	tb.Helper()
	prefix := fmt.Sprintf("test:%d:%d:", os.Getpid(), shared.used.Add(1))
	tb.Cleanup(func() { remove(tb, url, prefix) })
	return prefix
}

// Client is one for looking at a server; it is closed with the test.
func Client(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
