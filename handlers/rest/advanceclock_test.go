package rest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

func TestTheClockOfADevelopmentServerMoves(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	srv := handlerstest.Start(t, func(c *handlers.Config) {
		c.Advance = func(d time.Duration) time.Time {
			at = at.Add(d)
			return at
		}
	})
	const path = "/v1/dev/clock/advance"
	srv.Post(path, `{"by":"5m"}`).Want(http.StatusOK).Has(`"now":"2026-11-29T12:05:00Z"`)
	srv.Post(path, `{"by":"8784h"}`).Want(http.StatusOK)
	for _, body := range []string{`{}`, `{"by":"0s"}`, `{"by":"-1s"}`, `{"by":"8784h1s"}`} {
		srv.Post(path, body).Refused(http.StatusBadRequest, engine.CodeInvalidRequest, "by")
	}
}

// Beyond it times would not fit into 64-bit nanoseconds.
func TestTheClockOfADevelopmentServerEnds(t *testing.T) {
	t.Parallel()
	at := time.Date(2150, 12, 31, 12, 0, 0, 0, time.UTC)
	srv := handlerstest.Start(t, func(c *handlers.Config) {
		c.Advance = func(d time.Duration) time.Time {
			at = at.Add(d)
			return at
		}
	})
	const path = "/v1/dev/clock/advance"
	srv.Post(path, `{"by":"12h"}`).Refused(http.StatusBadRequest, engine.CodeInvalidRequest, "by").Has("2150")
	srv.Post(path, `{"by":"11h"}`).Want(http.StatusOK).Has(`"now":"2150-12-31T23:00:00Z"`)
}

func TestTheClockOfOtherServersIsTheSystems(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Post("/v1/dev/clock/advance", `{"by":"5m"}`).Refused(http.StatusNotFound, engine.CodeNotFound, "").Has("--dev")
}
