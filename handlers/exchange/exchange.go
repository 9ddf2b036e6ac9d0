// Package exchange is what both wires do with a client's connection: take in a request body within the server's memory,
// write answers from pooled memory, and hand messages over or take them back. What a body says and how an answer reads is up to the wires.
package exchange

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/middleware"
)

const (
	// MaxBody is the most a request body may be, unless its queue takes larger messages.
	MaxBody = 16 << 20
	// ClientGone is the status that logs and metrics show when nobody is left to answer. It is nginx's; HTTP has none.
	ClientGone = 499
	// unbudgeted is the size up to which bodies and answers are no matter for the budgets: however rude others are,
	// whoever sends and receives small messages is served.
	unbudgeted = 64 << 10
)

// Exchange has the memory that all clients share. It is safe for concurrent use.
type Exchange struct {
	// Bodies bounds the request bodies in memory, Answers the messages in memory that clients are reading.
	Bodies, Answers *middleware.Budget
	Log             *slog.Logger
	// Now is the clock of deadlines.
	Now func() time.Time
}

// Hold makes room for so many bytes of an answer until it is released; a client may read slowly. A small answer fits into
// the connection's buffer.
func (x *Exchange) Hold(size int64) (release func(), err error) {
	if size <= unbudgeted {
		return func() {}, nil
	}
	if !x.Answers.Take(size) {
		return nil, busy("The server is holding as many answers for slow readers as it may; repeat the request shortly, or ask for less.")
	}
	return func() { x.Answers.Give(size) }, nil
}

// UnhurriedRead takes away the deadline under which the request was read: it would end a wait that is longer.
func UnhurriedRead(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// busy is a refusal for now.
func busy(detail string) error {
	return &engine.Error{Code: engine.CodeUnavailable, Detail: detail, Outcome: engine.NotApplied, RetryAfter: time.Second}
}
