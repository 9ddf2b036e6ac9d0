package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/problem"
)

// Observer is the outermost layer.
type Observer struct {
	// Log gets one line for each request: debug for what went well or was the client's fault, warn for a 5xx.
	Log *slog.Logger
	// IDs names requests that come without a usable X-Request-Id.
	IDs *IDs
	// Now is the clock of deadlines and log lines.
	Now func() time.Time
	// Failed, unless nil, answers a request whose handler panicked, and says whether it did: a client reads errors in its
	// own protocol only. Those it leaves get a problem.
	Failed func(http.ResponseWriter, *http.Request) bool
}

// Wrap gives every request an id, which the answer carries, logs it and answers 500 when next panics. Connections on which it
// is not beyond doubt where a request ends are closed after the answer. The error of a
// panicking handler is "unknown": what it had done by then cannot be told.
func (o *Observer) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &Response{ResponseWriter: w, now: o.Now}
		res.id[0] = o.requestID(r)
		w.Header()[RequestIDHeader] = res.id[:]

		if isAmbiguous(r) {
			w.Header()["Connection"] = closing
		}
		if len(r.Header["Expect"]) > 0 {
			// "100 Continue" is written before the answer is, and the deadline of the last answer has passed.
			res.hurry(0)
		}
		timed := o.Log.Enabled(r.Context(), slog.LevelDebug)
		var start time.Time
		if timed {
			start = o.Now()
		}
		defer func() {
			if v := recover(); v != nil {
				o.recovered(res, r, v)
			}
			if timed || res.status >= http.StatusInternalServerError {
				o.log(res, r, start)
			}
		}()
		next.ServeHTTP(res, r)
	})
}

func (o *Observer) requestID(r *http.Request) string {
	if given := r.Header[RequestIDHeader]; len(given) == 1 && sane(given[0]) {
		return given[0]
	}
	return o.IDs.Next()
}

func (o *Observer) recovered(res *Response, r *http.Request, v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	o.Log.LogAttrs(r.Context(), slog.LevelError, "handler panicked",
		slog.String("request_id", res.id[0]),
		slog.Any("panic", v),
		slog.String("stack", string(debug.Stack())))
	if res.status != 0 {
		// Part of an answer is out: cutting the connection is the only way left to say that it is not whole.
		panic(http.ErrAbortHandler)
	}
	if o.Failed != nil && o.Failed(res, r) {
		return
	}
	problem.Write(res, problem.Problem{
		Status:  http.StatusInternalServerError,
		Code:    engine.CodeUnavailable,
		Detail:  "The server failed while handling this request. Its log has the details under this request id.",
		Outcome: engine.Unknown,
	})
}

func (o *Observer) log(res *Response, r *http.Request, start time.Time) {
	level := slog.LevelDebug
	if res.status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	attrs := [...]slog.Attr{
		slog.String("request_id", res.id[0]),
		slog.String("method", r.Method),
		slog.String("path", r.URL.Path),
		slog.Int("status", res.status),
		slog.Int64("bytes", res.bytes),
		slog.String("remote", r.RemoteAddr),
		slog.Duration("took", 0),
	}
	shown := attrs[:len(attrs)-1]
	if !start.IsZero() {
		shown = append(shown, slog.Duration("took", o.Now().Sub(start)))
	}
	o.Log.LogAttrs(r.Context(), level, "request", shown...)
}
