package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

func TestFailedStoreEndsTheServer(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	var fail func(error)
	open := func(_ context.Context, _ serveOptions, _ *clock, _ *slog.Logger, _ *metrics.Metrics, failed func(error)) (store.Store, error) {
		fail = failed
		return memory.New(memory.Options{Now: time.Now}), nil
	}
	out := newBuffer()
	ended := make(chan error, 1)
	go func() {
		o := serveOptions{addr: "127.0.0.1:0", store: "memory"}
		ended <- serve(t.Context(), program{out: out}, o, slog.New(slog.DiscardHandler), open)
	}()
	out.await(t, "/receive")
	addr := strings.TrimPrefix(printedURL.FindString(out.String()), "http://")
	fail(broken)
	if err := <-ended; !errors.Is(err, broken) {
		t.Errorf("serve = %v, want %v", err, broken)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Errorf("%s still accepts connections", addr)
	}
}

func TestUntilInputEnds(t *testing.T) {
	t.Parallel()
	out := newBuffer()
	p := program{out: out, errOut: out, in: strings.NewReader("")}
	code := run(p, []string{"serve", "--addr", "127.0.0.1:0", "--store", "memory", "--until-input-ends"})
	if code != exitFine {
		t.Errorf("run = %d, want %d; it said:\n%s", code, exitFine, out)
	}
}

func TestMisspelledVariablesAreReported(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := program{
		out: new(bytes.Buffer), errOut: &said, in: strings.NewReader(""),
		env: []string{"DABBA_ADR=:1", "DABBA_URL=http://x", "DABBA_TOKEN=secret-token", "DABBA_LOG_LEVEL=warn", "HOME=/"},
	}
	if code := run(p, []string{"serve", "--addr", "127.0.0.1:0", "--store", "memory", "--until-input-ends"}); code != exitFine {
		t.Fatalf("run = %d: %s", code, &said)
	}
	if got := said.String(); strings.Count(got, "misspelled") != 1 || !strings.Contains(got, "name=DABBA_ADR") || strings.Contains(got, "secret") {
		t.Errorf("serve said:\n%s\nwant one warning, about DABBA_ADR", got)
	}
}

func TestListsInTheEnvironmentCountMoreThanTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dabba.json")
	if err := os.WriteFile(file, []byte(`{"allow-host": ["c"], "allow-origin": ["https://c"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p := program{
		out: new(bytes.Buffer), errOut: &said, in: strings.NewReader(""),
		env: []string{"DABBA_ALLOW_HOST=a.lan,b.lan:8080"},
	}
	if code := run(p, []string{"serve", "--addr", "127.0.0.1:0", "--store", "memory", "--until-input-ends", "--config", file}); code != exitFine {
		t.Fatalf("run = %d: %s", code, &said)
	}
	if got := said.String(); !strings.Contains(got, " allow-host=a.lan,b.lan:8080 allow-origin=https://c ") {
		t.Errorf("serve said:\n%s\nwant the hosts of the environment and the origin of the file", got)
	}
}

func TestNamesOfAddresses(t *testing.T) {
	t.Parallel()
	got := namesOf("Queues.lan:8080", "127.0.0.1:80", ":8080", "", "[::1]:9090", "localhost:0")
	if want := []string{"queues.lan", "localhost"}; !slices.Equal(got, want) {
		t.Errorf("namesOf = %q, want %q", got, want)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"./data":                                "./data",
		"127.0.0.1:8080":                        "127.0.0.1:8080",
		"https://id.example/jwks":               "https://id.example/jwks",
		"https://me:hunter2@id.example/jwks":    "https://me:xxxxx@id.example/jwks",
		"https://id.example/jwks?token=hunter2": "https://id.example/jwks?redacted",
		"https://%zz:hunter2@x":                 "redacted",
	}
	for in, want := range tests {
		if got := redact(in); got != want {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPercentFor(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	tests := []struct {
		live uint64
		want int
	}{
		{0, 9500}, {1 * mb, 9500}, {12 * mb, 700}, {32 * mb, 200}, {48 * mb, 100}, {64 * mb, 100}, {10 << 30, 100},
	}
	for _, tt := range tests {
		got := percentFor(tt.live, 96*mb)
		if got != tt.want {
			t.Errorf("percentFor(%d MB) = %d, want %d", tt.live/mb, got, tt.want)
		}
	}
}
