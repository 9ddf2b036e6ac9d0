package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/memlimit"
)

// undoTime is how long taking back an undelivered receive may take.
const undoTime = 10 * time.Second

// HandOver answers with messages, and gives them back if the client does not get all of the answer, or if there is no memory
// for one of size bytes. write may not fail but for the connection.
func (x *Exchange) HandOver(w http.ResponseWriter, r *http.Request, got []*engine.Received, size int64, write func() error) error {
	if gone(r) {
		x.undo(r, got)
		w.WriteHeader(ClientGone)
		return nil
	}
	messages, final := 0, false
	for _, part := range got {
		messages += len(part.Messages)
		final = final || part.Final()
	}
	if final {
		memlimit.From(r.Context()).Force(size) // to refuse it would be to lose them
	} else if err := Answering(r, size); err != nil {
		x.undo(r, got)
		return err
	}
	err := write()
	if err == nil && messages > 0 {
		// The lease counts only once the last byte is out. From then on the client may close when it likes: that the
		// context has ended says nothing any more.
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		x.undo(r, got)
	}
	return nil
}

// undo gives messages back that the client did not get. It failing is like the client's crash after it got them: the
// leases end by themselves.
func (x *Exchange) undo(r *http.Request, got []*engine.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), undoTime)
	defer cancel()
	for _, part := range got {
		if err := part.Undo(ctx); err != nil {
			x.Log.WarnContext(ctx, "messages of a receive that was hung up on stay leased until their visibility ends",
				slog.String("path", r.URL.Path), slog.Int("messages", len(part.Messages)), slog.Any("error", err))
		}
	}
}
