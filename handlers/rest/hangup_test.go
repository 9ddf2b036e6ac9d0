package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

// dial opens a bare connection to the server.
func dial(t *testing.T, srv *handlerstest.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// ask writes one request and does not read the answer.
func ask(t *testing.T, conn net.Conn, method, path, body string) {
	t.Helper()
	_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	if err != nil {
		t.Fatalf("write the request: %v", err)
	}
}

func TestAClientThatHangsUpWhileWaitingLeasesNothing(t *testing.T) {
	t.Parallel()
	for name, hangUp := range map[string]func(*net.TCPConn) error{
		"close":      (*net.TCPConn).Close,
		"half-close": (*net.TCPConn).CloseWrite,
		"reset": func(c *net.TCPConn) error {
			_ = c.SetLinger(0)
			return c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			conn := dial(t, srv)
			ask(t, conn, "POST", "/v1/queues/q/receive", `{"wait":"1h"}`)
			eventually(t, "a receive that waits", func() bool { return waiting(t, srv) == 1 })
			if err := hangUp(conn); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the receive to notice", func() bool { return waiting(t, srv) == 0 })

			srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
			if got := one(t, srv, "").Receives; got != 1 {
				t.Errorf("receives = %d for the first client that got it, want 1", got)
			}
			if log := srv.Log.String(); !strings.Contains(log, "status=499") || strings.Contains(log, "level=WARN") {
				t.Errorf("a client that hung up is logged as\n%s\nwant status 499 and no warning", log)
			}
		})
	}
}

func TestAClientThatHangsUpDuringTheAnswerLeasesNothing(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "application/octet-stream"} {
		for _, read := range []int{0, 5000} {
			t.Run(fmt.Sprintf("%s after %d bytes", accept, read), func(t *testing.T) {
				t.Parallel()
				srv := withQueue(t, `{"max_message_bytes":16777216}`)
				// More than the buffers of the sockets hold, so that the server is still writing when the client goes.
				body := strings.Repeat("x", 8<<20)
				srv.Post("/v1/queues/q/messages", body, "Content-Type", "text/plain").Want(http.StatusOK)

				conn := dial(t, srv)
				if err := conn.SetReadBuffer(4 << 10); err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Fprintf(conn, "POST /v1/queues/q/receive HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\nContent-Length: 0\r\n\r\n", accept); err != nil {
					t.Fatal(err)
				}
				if _, err := io.CopyN(io.Discard, conn, int64(read)); err != nil {
					t.Fatalf("read the start of the answer: %v", err)
				}
				eventually(t, "the message to be leased", func() bool { return counts(t, srv).Leased == 1 })
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}

				eventually(t, "the message to be ready again", func() bool { return counts(t, srv).Ready == 1 })
				if got := one(t, srv, "").Receives; got != 1 {
					t.Errorf("receives = %d for the first client that got it, want 1", got)
				}
			})
		}
	}
}

// TestAMessageThatComesRightAfterAHangUpIsNotLeased sends before net/http can have noticed that the client is gone.
func TestAMessageThatComesRightAfterAHangUpIsNotLeased(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	q := engine.Ref{Tenant: "default", Name: "q"}
	for range 30 {
		conn := dial(t, srv)
		ask(t, conn, "POST", "/v1/queues/q/receive", `{"wait":"1h"}`)
		eventually(t, "a receive that waits", func() bool { return waiting(t, srv) == 1 })
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := srv.Engine.Send(t.Context(), q, engine.SendRequest{Messages: []engine.Message{{Body: []byte("x")}}}); err != nil {
			t.Fatal(err)
		}
		got := one(t, srv, `{"wait":"10s"}`)
		if got.Receives != 1 {
			t.Fatalf("receives = %d for the first client that got it, want 1", got.Receives)
		}
		srv.Post("/v1/queues/q/ack", `{"receipts":["`+got.Receipt+`"]}`).Want(http.StatusOK)
		eventually(t, "the receive to be over", func() bool { return waiting(t, srv) == 0 })
	}
}

func TestAClientThatStaysGetsItsLease(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
	conn := dial(t, srv)
	ask(t, conn, "POST", "/v1/queues/q/receive", "")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	// The connection is only taken down after the handler has returned, so this sees what it left behind.
	srv.Get("/healthz").Want(http.StatusOK)
	if got := counts(t, srv); got.Leased != 1 || got.Ready != 0 {
		t.Errorf("counts = %+v, want the message leased", got)
	}
}

func TestRequestsInOneWriteAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	conn := dial(t, srv)
	ask(t, conn, "POST", "/v1/queues/q/messages", `{"body":"a"}`)
	ask(t, conn, "POST", "/v1/queues/q/receive", "")
	ask(t, conn, "POST", "/v1/queues/q/receive", "")
	r := bufio.NewReader(conn)
	for _, want := range []string{`"id":`, `"body":"a"`, `{"messages":[]}`} {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("answer = %s (%v), want it to contain %s", body, err, want)
		}
	}
	if got := counts(t, srv); got != (engine.Counts{Leased: 1, Bytes: 1}) {
		t.Errorf("counts = %+v, want the message leased", got)
	}
}

// goneAfterFlush is a connection whose client closes the moment it has the last byte.
type goneAfterFlush struct {
	*httptest.ResponseRecorder
	hangUp context.CancelFunc
}

// Flush delivers the answer.
func (g goneAfterFlush) Flush() {
	g.ResponseRecorder.Flush()
	g.hangUp()
}

func TestAClientThatClosesOnceItHasEverythingKeepsItsLease(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
	ctx, cancel := context.WithCancel(t.Context())
	w := goneAfterFlush{httptest.NewRecorder(), cancel}
	srv.HTTP.Handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/queues/q/receive", nil))
	if w.Code != http.StatusOK || ctx.Err() == nil {
		t.Fatalf("receive: status %d, context %v, want an answer and then a hang-up", w.Code, ctx.Err())
	}
	if got := counts(t, srv); got.Leased != 1 || got.Ready != 0 {
		t.Errorf("counts = %+v, want the message leased", got)
	}
}
