package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/redis"
)

func TestRedisAddresses(t *testing.T) {
	t.Parallel()
	type split struct{ url, prefix, shown string }
	for address, want := range map[string]split{
		"redis://localhost": {"redis://localhost", "", "redis://localhost"},
		"rediss://me:hunter2@redis.example:6379/3?prefix=a:": {
			"rediss://me:hunter2@redis.example:6379/3", "a:", "rediss://me:xxxxx@redis.example:6379/3?prefix=a:",
		},
		"redis://:hunter2@h": {"redis://:hunter2@h", "", "redis://:xxxxx@h"},
		"redis-sentinel://me:hunter2@a:26379,b:26379/mine/2?prefix=a:&sentinel_password=hunter3": {
			"redis-sentinel://me:hunter2@a:26379,b:26379/mine/2?sentinel_password=hunter3", "a:",
			"redis-sentinel://me:xxxxx@a:26379,b:26379/mine/2?prefix=a:&redacted",
		},
		"rediss-cluster://me:hun%40ter2@a:1,[::1]:2,c?prefix=b:": {
			"rediss-cluster://me:hun%40ter2@a:1,[::1]:2,c", "b:", "rediss-cluster://me:xxxxx@a:1,[::1]:2,c?prefix=b:",
		},
	} {
		o, err := redisOptions(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := (split{o.URL, o.Prefix, redact(address)}); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", address, got, want)
		}
		if !(&serveOptions{store: address}).onRedis() {
			t.Errorf("%s is not on Redis", address)
		}
	}
}

func TestRedisAddressesThatMeanNothing(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://", "redis://me:hunter2@", "redis://a:1,b:2", "redis-sentinel://me:hunter2@a:1,b:2", "redis-cluster://me:hunter2@a:1,b:2/1",
		"redis-cluster://me:12/hunter2@a:1", "redis-cluster://me:hunter2?@a:1,b", "redis-cluster://me:hunter2#@a", "redis://a?prefix={hunter}",
		"redis://a/hunter", "redis://a?%zz",
	} {
		_, err := redisOptions(address)
		if _, usage := errors.AsType[*usageError](err); !usage || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want a usage error without the password", address, err)
		}
		if got := redact(address); strings.Contains(got, "hunter2") {
			t.Errorf("redact(%s) = %s", address, got)
		}
	}
}

func TestFailoversAreToldAndCounted(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	m := metrics.New()
	var o redis.Options
	tellFailovers(&o, slog.New(slog.NewTextHandler(&said, nil)), m)
	at := time.Unix(100, 0)
	o.Failover(redis.Failover{Server: "a:1", From: "x", To: "x", Emptied: true, Tags: 257})
	o.Failover(redis.Failover{Server: "a:1", From: "x", To: "y", At: at, Tags: 257})
	o.Lost(redis.Loss{Server: "a:1"})
	o.Lost(redis.Loss{Server: "a:1", Sends: 1, Receives: 2, Settles: 3, Appends: 4, Catalog: 5, Others: 6})
	o.Lost(redis.Loss{Server: "a:1", Partial: true})
	got, can := m.Failovers()
	want := metrics.Failovers{
		Count: 2, LastAt: at, Partial: true,
		Lost: metrics.Lost{Sends: 1, Receives: 2, Settles: 3, Appends: 4, Catalog: 5, Others: 6},
	}
	if !can || got != want {
		t.Errorf("counted %+v, %t, want %+v", got, can, want)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	for i, want := range [][]string{
		{"level=ERROR", "was emptied", "made again", "tags=257"},
		{"level=ERROR", "failed over", "nothing has to be repaired", "tags=257"},
		{"level=INFO", "has lost nothing"},
		{"level=ERROR", "has lost acknowledged changes", "send=1", "other=6"},
		{"level=ERROR", "may have lost more", "partial=true"},
	} {
		for _, part := range want {
			if i >= len(lines) || !strings.Contains(lines[i], part) {
				t.Errorf("line %d does not say %q:\n%s", i, part, said.String())
			}
		}
	}
}

// What Redis answers to a server that cannot be started with it says little to who started it.
func TestAdviceForOpening(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: %w", store.ErrUnavailable, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), "is Redis there"},
		{fmt.Errorf("%w: %w", store.ErrUnavailable, io.EOF), "rediss"},
		{fmt.Errorf("%w: remote error: tls: certificate required", store.ErrUnavailable), "tls-auth-clients"},
		{fmt.Errorf("%w: too few replicas: NOREPLICAS Not enough", store.ErrUnavailable), "again when they follow"},
		{fmt.Errorf("%w: the server is a replica; name the master", store.ErrUnavailable), ""},
		{fmt.Errorf("layout 2: %w", store.ErrVersion), ""},
	} {
		got := adviseOpen(tt.err)
		if !errors.Is(got, tt.err) || !strings.Contains(got.Error(), tt.want) {
			t.Errorf("adviseOpen(%v) = %v, want it with %q", tt.err, got, tt.want)
		}
		if tt.want == "" && got.Error() != tt.err.Error() {
			t.Errorf("adviseOpen(%v) = %v, want it as it is", tt.err, got)
		}
	}
}
