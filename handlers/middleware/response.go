package middleware

import (
	"net/http"
	"time"
)

const (
	// writeTime is how long a client may take to receive a small answer, or one part of a large one.
	writeTime = 30 * time.Second
	// writeRate is the slowest reader that is put up with, in bytes per second, beyond writeTime.
	writeRate = 64 << 10
	// smallWrite is the size up to which writeTime is enough.
	smallWrite = 256 << 10
)

// Response is the writer handed to handlers. It remembers what was answered, and gives each answer its deadline when
// it starts: however long the handler waited before, a client that does not read is cut off.
//
// It is not pooled: net/http reads the header map, which refers to id, after the handler has returned.
type Response struct {
	http.ResponseWriter
	now    func() time.Time
	id     [1]string
	status int
	bytes  int64
}

// Status is the status that was answered, or 0 while nothing was.
func (w *Response) Status() int { return w.status }

// Unwrap lets http.ResponseController reach the connection.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader passes the status on and remembers it, informational ones apart.
func (w *Response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.hurry(0)
	w.ResponseWriter.WriteHeader(status)
}

// Write passes p on. Parts of an answer after the first have a deadline each.
func (w *Response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.bytes > 0 || len(p) > smallWrite {
		w.hurry(len(p))
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// hurry sets the deadline for writing n bytes. Writers without deadlines, as in tests, do without.
func (w *Response) hurry(n int) {
	if d, ok := w.ResponseWriter.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(w.now().Add(writeTime + time.Duration(n)*time.Second/writeRate))
	}
}
