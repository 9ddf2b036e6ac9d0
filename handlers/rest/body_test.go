package rest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/problem"
	"github.com/dabba-mq/dabba/memlimit"
)

// answer reads one answer from a bare connection.
func answer(t *testing.T, conn net.Conn) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return res, string(body)
}

func TestABodyThatSaysToBeTooLargeIsRefusedUnread(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		conn := dial(t, srv)
		if _, err := fmt.Fprintf(conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n", expect, int64(1)<<40); err != nil {
			t.Fatal(err)
		}
		// Not a byte of the body was sent.
		res, body := answer(t, conn)
		if res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close {
			t.Errorf("answer = %d, close %v, want 413 and the end of the connection\n%s", res.StatusCode, res.Close, body)
		}
	}
}

func TestBodiesOfUnknownLength(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"max_message_bytes":2000000}`)
	for _, size := range []int{0, 1, 16383, 16384, 16385, 100_000, 1_999_000} {
		body := strings.Repeat("x", size)
		send(t, srv, io.MultiReader(strings.NewReader(body)), http.StatusOK)
		got := srv.Post("/v1/queues/q/receive", "", "Accept", "application/octet-stream").Want(http.StatusOK)
		if string(got.Body) != body {
			t.Errorf("received %d bytes of %d", len(got.Body), size)
		}
	}
	send(t, srv, io.LimitReader(forever{}, 17<<20), http.StatusRequestEntityTooLarge)
}

// send posts a raw body in chunks.
func send(t *testing.T, srv *handlerstest.Server, body io.Reader, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/queues/q/messages", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/plain")
	r.ContentLength = -1
	res, err := srv.HTTPClient().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != status {
		content, _ := io.ReadAll(res.Body)
		t.Fatalf("send in chunks = %d, want %d\n%s", res.StatusCode, status, content)
	}
}

// forever is a reader without an end.
type forever struct{}

func (forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestABodyThatEndsTooEarlyChangesNothing(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for _, header := range []string{"Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n"} {
		conn := dial(t, srv)
		if _, err := fmt.Fprintf(conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n%s\r\n5\r\nhello\r\n", header); err != nil {
			t.Fatal(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if res, body := answer(t, conn); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "ended before it was complete") {
			t.Errorf("%s answer = %d %s, want 400", header, res.StatusCode, body)
		}
	}
	if got := counts(t, srv); got != (engine.Counts{}) {
		t.Errorf("counts = %+v, want none", got)
	}
}

func TestTooManyBodiesAtOnceAreRefusedForNow(t *testing.T) {
	t.Parallel()
	budget := memlimit.New(4 << 20)
	srv := handlerstest.Start(t, func(c *handlers.Config) { c.Memory = budget })
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	large := `{"body":"` + strings.Repeat("x", 300<<10) + `"}`
	part := strings.Repeat("x", 100<<10)
	var holders []net.Conn
	for range 40 { // some may be refused, when they come at the same time as what fills the last of the room
		conn := dial(t, srv)
		if _, err := fmt.Fprintf(conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(large), part); err != nil {
			t.Fatal(err)
		}
		holders = append(holders, conn)
	}
	eventually(t, "a full server", func() bool {
		res := srv.Post("/v1/queues/q/messages", large)
		if res.Status == http.StatusOK {
			return false
		}
		res.Refused(http.StatusServiceUnavailable, engine.CodeUnavailable, "")
		var p problem.Document
		if res.Decode(&p); p.Outcome != engine.NotApplied || res.Header.Get("Retry-After") != "1" {
			t.Errorf("outcome %s and Retry-After %q, want not_applied and 1", p.Outcome, res.Header.Get("Retry-After"))
		}
		return true
	})
	// Calls without a body go on, and small ones.
	srv.Get("/v1/queues/q").Want(http.StatusOK)
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)

	for _, conn := range holders {
		_ = conn.Close()
	}
	eventually(t, "room for bodies", func() bool {
		return srv.Post("/v1/queues/q/messages", large).Status == http.StatusOK
	})
}

func TestABodyTakesMemoryAsItArrives(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t, func(c *handlers.Config) { c.Memory = memlimit.New(80 << 20) })
	srv.Put("/v1/queues/q", `{"max_message_bytes":16777216}`).Want(http.StatusCreated)
	// By their lengths these would be six times what the server holds.
	for range 32 {
		conn := dial(t, srv)
		if _, err := fmt.Fprintf(conn, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\nx", 16<<20); err != nil {
			t.Fatal(err)
		}
	}
	srv.Post("/v1/queues/q/messages", strings.Repeat("x", 10<<20), "Content-Type", "text/plain").Want(http.StatusOK)
}
