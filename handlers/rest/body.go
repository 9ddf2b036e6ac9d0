package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

const (
	// maxBody is the most a request body may be, unless its queue takes larger messages.
	maxBody = 16 << 20
	// pooledBody is the most a buffer may hold to be kept for the next request.
	pooledBody = 256 << 10
	// firstRead is the size of the buffer for a body of unknown length.
	firstRead = 16 << 10
	// unbudgeted is the size up to which bodies and answers are no matter for the budgets: however rude others are,
	// whoever sends and receives small messages is served.
	unbudgeted = 64 << 10
	// eager is how much memory a body gets before any of it has arrived, whatever its length is said to be.
	eager = 1 << 20
	// unhurried is the size up to which the server's own read timeout is enough for a slow client.
	unhurried = 256 << 10
	// bodyRate is the slowest upload that is put up with, in bytes per second, beyond bodyGrace.
	bodyRate  = 64 << 10
	bodyGrace = 20 * time.Second
)

// body is a request body in pooled memory. It is valid until release.
type body struct {
	bytes []byte
	api   *API
	room  int64 // how much of its memory may be used
	taken int64 // how much of that counts in the budget
}

var bodies = sync.Pool{New: func() any { return new(body) }}

// release gives the memory back. The bytes, and everything that shares memory with them, are not valid any more.
func (b *body) release() {
	b.api.bodies.Give(b.taken)
	if cap(b.bytes) > pooledBody {
		b.bytes = nil
	}
	b.bytes, b.api, b.room, b.taken = b.bytes[:0], nil, 0, 0
	bodies.Put(b)
}

// limit is the most a request's body may be, asked only when it is more than 16 MiB.
type limit func(context.Context) (int64, error)

// usual is the limit of all calls that carry no messages.
func usual(context.Context) (int64, error) { return maxBody, nil }

// read takes in the whole request body. One that says to be too long is refused before any of it is read.
func (a *API) read(w http.ResponseWriter, r *http.Request, most limit) (*body, error) {
	if err := plainBody(w, r); err != nil {
		return nil, err
	}
	b, _ := bodies.Get().(*body)
	b.api = a
	var err error
	if r.ContentLength >= 0 {
		err = b.readKnown(w, r, most)
	} else {
		err = b.readChunked(w, r, most)
	}
	if err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

func (b *body) readKnown(w http.ResponseWriter, r *http.Request, most limit) error {
	size := r.ContentLength
	if size == 0 {
		return nil
	}
	if size > maxBody {
		m, err := most(r.Context())
		if err != nil {
			return err
		}
		if size > m {
			return tooLarge(w, m)
		}
	}
	b.patience(w, size)
	for read := int64(0); read < size; {
		if err := b.grow(min(size, max(eager, 2*read))); err != nil {
			return err
		}
		b.bytes = b.bytes[:b.room]
		if _, err := io.ReadFull(r.Body, b.bytes[read:]); err != nil {
			return unread(err)
		}
		read = b.room
	}
	return nil
}

// readChunked doubles its memory as the body arrives, up to one byte more than is allowed.
func (b *body) readChunked(w http.ResponseWriter, r *http.Request, most limit) error {
	m, raised := int64(maxBody), false
	for {
		if int64(len(b.bytes)) == b.room {
			size := max(firstRead, 2*b.room)
			if size > m && !raised {
				var err error
				if m, err = most(r.Context()); err != nil {
					return err
				}
				raised = true
			}
			size = min(size, m+1)
			if err := b.grow(size); err != nil {
				return err
			}
			b.patience(w, size)
		}
		n, err := r.Body.Read(b.bytes[len(b.bytes):b.room])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case int64(len(b.bytes)) > m:
			return tooLarge(w, m)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unread(err)
		}
	}
}

// grow makes room for size bytes in all, if the server has it.
func (b *body) grow(size int64) error {
	if size > unbudgeted {
		if !b.api.bodies.Take(size - b.taken) {
			return busy("The server is holding as many request bodies as it may; repeat the request shortly.")
		}
		b.taken = size
	}
	b.room = size
	if int64(cap(b.bytes)) < size {
		b.bytes = append(make([]byte, 0, size), b.bytes...)
	}
	return nil
}

// patience lets a large body take longer than the server's read timeout, in proportion to its size.
func (b *body) patience(w http.ResponseWriter, size int64) {
	if size <= unhurried {
		return
	}
	allowance := bodyGrace + time.Duration(size)*time.Second/bodyRate
	_ = http.NewResponseController(w).SetReadDeadline(b.api.now().Add(allowance))
}

func tooLarge(w http.ResponseWriter, most int64) error {
	// What the client still sends is not read, so the connection cannot be used again.
	w.Header().Set("Connection", "close")
	return &engine.Error{
		Code:    engine.CodeTooLarge,
		Detail:  fmt.Sprintf("The request body is larger than the %d bytes that are allowed here; send less at a time.", most),
		Outcome: engine.NotApplied,
	}
}

// busy is a refusal for now.
func busy(detail string) error {
	return &engine.Error{Code: engine.CodeUnavailable, Detail: detail, Outcome: engine.NotApplied, RetryAfter: time.Second}
}

func unread(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return invalid("", "The request body arrived too slowly; send it faster or in smaller parts.")
	}
	return invalid("", "The request body ended before it was complete; send it again.")
}
