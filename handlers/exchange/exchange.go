// Package exchange is what both wires do with a client's connection: take in a request body within the server's memory,
// write answers from pooled memory, and hand messages over or take them back. What a body says and how an answer reads is up to the wires.
package exchange

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
)

const (
	// MaxBody is the most a request body may be, unless its queue takes larger messages.
	MaxBody = 16 << 20
	// ClientGone is the status that logs and metrics show when nobody is left to answer. It is nginx's; HTTP has none.
	ClientGone = 499
)

// Exchange has the memory that all clients share. It is safe for concurrent use.
type Exchange struct {
	// Budget bounds the memory that all requests take.
	Budget *memlimit.Budget
	Log    *slog.Logger
	// Now is the clock of deadlines.
	Now func() time.Time
}

// Begin gives a request its share of the memory, which whatever works for the request charges through its context. done
// gives all of it back, when the request has been answered.
func (x *Exchange) Begin(r *http.Request) (_ *http.Request, done func()) {
	share := memlimit.From(r.Context())
	if share == nil {
		share = x.Budget.Share()
		r = r.WithContext(memlimit.With(r.Context(), share))
	}
	return r, share.Release
}

// Answering takes memory for an answer of about so many bytes, until the request has been answered: a client may read slowly.
func Answering(r *http.Request, size int64) error { return memlimit.Charge(r.Context(), size) }

// UnhurriedRead takes away the deadline under which the request was read: it would end a wait that is longer.
func UnhurriedRead(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}
