package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis/redistest"
)

func TestMain(m *testing.M) {
	m.Run()
	redistest.Stop()
}

// serverURL is that of a server that all tests share.
func serverURL(t *testing.T) string {
	t.Helper()
	return redistest.Shared(t)
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
	url := redistest.Start(t, options...).URL
	return running{url, redistest.Client(t, url)}
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

// freshPrefix begins the keys of one store, which are removed with the test.
func freshPrefix(t *testing.T, url string) string {
	t.Helper()
	return redistest.Prefix(t, url)
}

// open opens a store that is closed with the test.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Silence == 0 {
		o.Silence = time.Minute // a busy machine is no dead server
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("Open(%+v) = %v, want nil", o, err)
	}
	s.client.AddHook(oneSlot{t})
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return s
}

// oneSlot sees to it that all keys of a script have the same hash tag, as a cluster demands.
type oneSlot struct{ *testing.T }

func (h oneSlot) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h oneSlot) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h oneSlot) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); strings.HasPrefix(cmd.Name(), "eval") {
			n, _ := args[2].(int)
			first := hashTag(args[3])
			for _, key := range args[3 : 3+n] {
				if tag := hashTag(key); tag == "" || tag != first {
					h.Errorf("a script gets the keys %v, which are in different slots", args[3:3+n])
					break
				}
			}
		}
		return next(ctx, cmd)
	}
}

func hashTag(key any) string {
	_, rest, _ := strings.Cut(fmt.Sprint(key), "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
