package rest

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
)

// pooledAnswer is the most an answer's buffer may hold to be kept for the next one.
const pooledAnswer = 256 << 10

// answers are buffers for answers that are appended by hand.
var answers = sync.Pool{New: func() any { return new(answer) }}

type answer struct{ bytes []byte }

func newAnswer() *answer {
	a, _ := answers.Get().(*answer)
	return a
}

func (a *answer) release() {
	if cap(a.bytes) <= pooledAnswer {
		a.bytes = a.bytes[:0]
		answers.Put(a)
	}
}

// jsonType is shared by all answers, so that setting the header costs nothing.
var jsonType = []string{"application/json"}

// send writes the answer in one go, with a newline for terminals. The error is that of the connection.
func (a *answer) send(w http.ResponseWriter, status int) error {
	a.bytes = append(a.bytes, '\n')
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(a.bytes))}
	w.WriteHeader(status)
	_, err := w.Write(a.bytes)
	return err
}

// reply encodes v, for answers that are not on a message's way. What they say changes from moment to moment.
func reply(w http.ResponseWriter, status int, v any) error {
	content, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	// An error here means that the client is gone: there is nobody to tell.
	_ = (&answer{bytes: content}).send(w, status)
	return nil
}
