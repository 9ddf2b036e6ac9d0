package exchange

import (
	"net/http"
	"strconv"
	"sync"
)

// pooledAnswer is the most an answer's memory may hold to be kept for the next one.
const pooledAnswer = 256 << 10

var answers = sync.Pool{New: func() any { return new(Answer) }}

// Answer is what an answer is put together in, in pooled memory. It is valid until Release.
type Answer struct{ Bytes []byte }

// NewAnswer is an answer without a byte.
func NewAnswer() *Answer {
	a, _ := answers.Get().(*Answer)
	return a
}

// Release gives the memory back.
func (a *Answer) Release() {
	if cap(a.Bytes) <= pooledAnswer {
		a.Bytes = a.Bytes[:0]
		answers.Put(a)
	}
}

// Send writes the answer in one go. The error is that of the connection. The list with the content type may be shared by
// all answers, so that setting it costs nothing.
func (a *Answer) Send(w http.ResponseWriter, status int, contentType []string) error {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(a.Bytes))}
	w.WriteHeader(status)
	_, err := w.Write(a.Bytes)
	return err
}
