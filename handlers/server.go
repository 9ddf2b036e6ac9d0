package handlers

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/memlimit"
)

const (
	// requestTime is how long a client may take to send a request's headers and a small body. Larger bodies get more
	// time by their size, and a receive that waits is not bound by it.
	requestTime = 20 * time.Second
	// idleTime is how long a connection is kept for the next request.
	idleTime = 2 * time.Minute
	// maxHeader bounds the headers of a request; attributes of raw bodies are among them.
	maxHeader = 64 << 10
)

// NewServer returns a server that slow clients cannot tie down. Answers have their deadlines set as they are written
// (see package middleware), since a receive may wait longer than any fixed time. Its connections count in the budget, which
// may be nil for none.
func NewServer(h http.Handler, log *slog.Logger, memory *memlimit.Budget) *http.Server {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: requestTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       exchange.WithConn,
		// OPTIONS * passes the same checks as all other requests.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if memory != nil {
		(&connections{memory: memory, now: time.Now}).watch(server) //nolint:forbidigo // as net/http does, whose timeouts these go with
	}
	return server
}
