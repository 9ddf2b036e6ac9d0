package rest_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// withQueue starts a server that has an empty queue "q" with the given configuration.
func withQueue(tb testing.TB, config string) *handlerstest.Server {
	tb.Helper()
	srv := handlerstest.Start(tb)
	srv.Put("/v1/queues/q", config).Want(http.StatusCreated)
	return srv
}

// receive returns the messages of one receive from "q".
func receive(tb testing.TB, srv *handlerstest.Server, body string) []rest.Message {
	tb.Helper()
	var got rest.ReceiveAnswer
	srv.Post("/v1/queues/q/receive", body).Want(http.StatusOK).Decode(&got)
	return got.Messages
}

// one returns the only message of one receive from "q".
func one(tb testing.TB, srv *handlerstest.Server, body string) rest.Message {
	tb.Helper()
	got := receive(tb, srv, body)
	if len(got) != 1 {
		tb.Fatalf("receive %s = %d messages, want 1", body, len(got))
	}
	return got[0]
}

// counts are those of "q".
func counts(tb testing.TB, srv *handlerstest.Server) engine.Counts {
	tb.Helper()
	q, err := srv.Engine.Queue(tb.Context(), engine.Ref{Tenant: "default", Name: "q"})
	if err != nil {
		tb.Fatal(err)
	}
	return q.Counts
}

// eventually waits for a condition that another goroutine brings about. It polls, since the other side is a server
// that announces nothing.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("waited in vain for: %s", what)
		}
	}
}

// waiting is the number of receives that wait, as /metrics tells it.
func waiting(tb testing.TB, srv *handlerstest.Server) int {
	tb.Helper()
	for line := range strings.SplitSeq(string(srv.Get("/metrics").Want(http.StatusOK).Body), "\n") {
		if n, ok := strings.CutPrefix(line, "dabba_waiting_receives "); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				tb.Fatalf("metric %q: %v", line, err)
			}
			return count
		}
	}
	tb.Fatal("/metrics has no dabba_waiting_receives")
	return 0
}
