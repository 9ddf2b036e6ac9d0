package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// begin sends a request whose answer comes later.
func begin(t *testing.T, srv *handlerstest.Server, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

// waitFor polls until the metric has the value.
func waitFor(t *testing.T, srv *handlerstest.Server, line string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !strings.Contains(string(srv.Get("/metrics").Body), line+"\n") {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", line)
		}
	}
}

func TestShutdownAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	waiting := begin(t, srv, "POST /v1/queues/q/receive?wait=1h HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	waitFor(t, srv, "dabba_waiting_receives 1")
	idle := begin(t, srv, "")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := handlers.Shutdown(ctx, srv.Config.Readiness, srv.Engine, srv.HTTP); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	answer, err := io.ReadAll(waiting)
	if err != nil || !strings.Contains(string(answer), "200 OK") || !strings.HasSuffix(string(answer), `{"messages":[]}`+"\n") {
		t.Errorf("the receive that waited got %q (%v), want an empty list", answer, err)
	}
	if got, err := io.ReadAll(idle); err != nil && !errors.Is(err, net.ErrClosed) && len(got) > 0 {
		t.Errorf("the idle connection got %q, %v", got, err)
	}
}

func TestShutdownGivesUpWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	// A client that never sends the rest of its body.
	begin(t, srv, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
	begin(t, srv, "POST /v1/queues/q/receive?wait=1h HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	waitFor(t, srv, "dabba_waiting_receives 1")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := handlers.Shutdown(ctx, srv.Config.Readiness, srv.Engine, srv.HTTP); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown with a stuck client = %v, want that its time is over", err)
	}
}

func TestReadinessTurnsRedWhileStopping(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/readyz").Want(http.StatusOK)
	srv.Config.Readiness.Stop()
	srv.Get("/readyz").Refused(http.StatusServiceUnavailable, "unavailable", "")
	srv.Get("/healthz").Want(http.StatusOK)
}

func TestReadinessTurnsRedWhenTheStoreCannotServe(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	if err := srv.Store.Close(); err != nil {
		t.Fatal(err)
	}
	srv.Get("/readyz").Refused(http.StatusServiceUnavailable, "unavailable", "")
}

func TestTheAdminAddressIsApart(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t, func(c *handlers.Config) { c.SeparateAdmin = true })
	srv.Get("/metrics").Refused(http.StatusNotFound, "not_found", "")

	admin := handlerstest.Serve(t, handlers.NewAdmin(srv.Config))
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	admin.Get("/metrics").Want(http.StatusOK).Has(`dabba_queue_messages{queue="q",state="ready"} 0`)
	admin.Get("/healthz").Want(http.StatusOK)
	admin.Get("/readyz").Want(http.StatusOK)
	admin.Get("/v1/queues").Refused(http.StatusNotFound, "not_found", "")
}

func TestInfoSaysWhatTheServerPromises(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	var info rest.Info
	srv.Get("/v1/info").Want(http.StatusOK).Decode(&info)
	want := srv.Engine.StoreInfo()
	if info.Store != want.Name || info.Promise != want.Promise || info.Version != "0.0.0-test" || info.Limits.MaxBatch != 1000 {
		t.Errorf("info = %+v, want store %+v", info, want)
	}
}

func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/v1/queues/a")
	srv.Get("/v1/queues/b")
	srv.Get("/nowhere")
	page := srv.Get("/metrics").Want(http.StatusOK)
	for _, line := range []string{
		`dabba_http_requests_total{method="GET",route="/v1/queues/{q}",status="404"} 2`,
		`dabba_http_requests_total{method="",route="unknown",status="404"} 1`,
	} {
		page.Has(line)
	}
	if strings.Contains(string(page.Body), "nowhere") {
		t.Error("a path that a client chose became a label")
	}
}

func TestSlowClientsAreCutOffButNotThoseWhoWait(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	hasty := handlers.NewServer(handlers.New(srv.Config), srv.Config.Log, nil)
	hasty.ReadTimeout, hasty.ReadHeaderTimeout = 100*time.Millisecond, 100*time.Millisecond
	short := handlerstest.Run(t, hasty)

	waits := begin(t, short, "POST /v1/queues/q/receive?wait=1h HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	waitFor(t, srv, "dabba_waiting_receives 1")
	slow := begin(t, short, "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
	silent := begin(t, short, "POST /v1/queues/q/mess")

	if answer, err := io.ReadAll(slow); err != nil || !strings.Contains(string(answer), "arrived too slowly") {
		t.Errorf("half a body was answered with %q (%v), want a problem", answer, err)
	}
	if answer, err := io.ReadAll(silent); err != nil && len(answer) > 0 {
		t.Errorf("half a header was answered with %q (%v), want the end of the connection", answer, err)
	}
	// Both came after the receive, so it has outlived the time limit by now.
	srv.Post("/v1/queues/q/messages", `{"body":"worth the wait"}`).Want(http.StatusOK)
	answer := make([]byte, 4096)
	n, err := waits.Read(answer)
	if err != nil || !strings.Contains(string(answer[:n]), "worth the wait") {
		t.Errorf("the receive that waited got %q (%v), want the message", answer[:n], err)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	conn := begin(t, srv, fmt.Sprintf("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 1<<20)))
	answer, _ := io.ReadAll(conn) // the server may cut the connection off
	if !strings.HasPrefix(string(answer), "HTTP/1.1 431") {
		t.Errorf("answer = %.80q, want 431", answer)
	}
}
