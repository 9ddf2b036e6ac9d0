package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// Whoever names the wrong thing is told which it is and what to name instead.
func TestOpenSaysWhatToCorrect(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartSentinel(t)
	sentinels := strings.TrimSuffix(strings.TrimPrefix(fleet.URL, "redis-sentinel://"), "/main")
	watcher, _, _ := strings.Cut(sentinels, ",")
	alone := strings.TrimPrefix(ownServer(t, "--requirepass", "secret").url, "redis://")
	dumb, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dumb.Close() })
	for name, c := range map[string]struct{ url, says string }{
		"a name that sentinels do not know":    {"redis-sentinel://" + sentinels + "/other", `knows a master called "other"`},
		"a sentinel":                           {"redis://" + watcher, "name it as redis-sentinel://"},
		"a sentinel as one of a cluster":       {"redis-cluster://" + watcher, "name it as redis-sentinel://"},
		"a server as a sentinel":               {"redis-sentinel://" + fleet.Master(t).Addr + "/main", "is no sentinel"},
		"a server as a sentinel with password": {"redis-sentinel://" + alone + "/main", "sentinel_password"},
		"a server as one of a cluster":         {"redis-cluster://" + fleet.Master(t).Addr, "name it as redis://"},
		"no password":                          {"redis://" + alone, "wants a password"},
		"a wrong password":                     {"redis://:other@" + alone, "no such user and password"},
		"TLS where there is none":              {"rediss://" + dumb.Addr().String(), "redis instead of rediss"},
	} {
		_, err := Open(t.Context(), Options{URL: c.url})
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Open with %s = %v, want that the store is unavailable, and %q", name, err, c.says)
		}
	}
}

// That a server does not answer in time is not that its caller has given up.
func TestDialingInVain(t *testing.T) {
	t.Parallel()
	late := &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	for name, c := range map[string]struct {
		url, addr string
		err       error
		says      string
	}{
		"too late":                {"redis://a", "a:6379", late, "i/o timeout"},
		"too late, by context":    {"redis://a", "a:6379", context.DeadlineExceeded, "no answer in time"},
		"several":                 {"redis-sentinel://a,b/m", "", errors.Join(late, late), "timeout; dial"},
		"where the sentinels say": {"redis-sentinel://a/m", "", late, "as the sentinels name it"},
		"where the cluster says":  {"redis-cluster://a", "b:6379", late, "as the cluster names it"},
	} {
		at, err := parseEndpoint(c.url)
		if err != nil {
			t.Fatal(err)
		}
		got := fault(dialing{at}.explain(c.addr, c.err), false)
		if !errors.Is(got, store.ErrUnavailable) || errors.Is(got, context.DeadlineExceeded) || !strings.Contains(got.Error(), c.says) {
			t.Errorf("%s: got %v, want that the store is unavailable, and %q", name, got, c.says)
		}
	}
	if got := (dialing{}).explain("a:6379", context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("a dial that its caller gave up: got %v, want %v", got, context.Canceled)
	}
}
