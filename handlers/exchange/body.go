package exchange

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
	// pooledBody is the most a buffer may hold to be kept for the next request.
	pooledBody = 256 << 10
	// firstRead is the size of the buffer for a body of unknown length.
	firstRead = 16 << 10
	// eager is how much memory a body gets before any of it has arrived, whatever its length is said to be.
	eager = 1 << 20
	// unhurried is the size up to which the server's own read timeout is enough for a slow client.
	unhurried = 256 << 10
	// bodyRate is the slowest upload that is put up with, in bytes per second, beyond bodyGrace.
	bodyRate  = 64 << 10
	bodyGrace = 20 * time.Second
)

// Body is a request body in pooled memory. It is valid until Release.
type Body struct {
	// Bytes are the whole of it.
	Bytes []byte
	x     *Exchange
	room  int64 // how much of its memory may be used
	taken int64 // how much of that counts in the budget
}

var bodies = sync.Pool{New: func() any { return new(Body) }}

// Release gives the memory back. The bytes, and everything that shares memory with them, are not valid any more.
func (b *Body) Release() {
	b.x.Bodies.Give(b.taken)
	if cap(b.Bytes) > pooledBody {
		b.Bytes = nil
	}
	b.Bytes, b.x, b.room, b.taken = b.Bytes[:0], nil, 0, 0
	bodies.Put(b)
}

// Limit is the most a request's body may be, asked only when it is more than [MaxBody].
type Limit func(context.Context) (int64, error)

// Usual is the limit of all calls that carry no messages.
func Usual(context.Context) (int64, error) { return MaxBody, nil }

// Read takes in the whole request body. One that says to be too long is refused before any of it is read.
func (x *Exchange) Read(w http.ResponseWriter, r *http.Request, most Limit) (*Body, error) {
	if err := plainBody(w, r); err != nil {
		return nil, err
	}
	b, _ := bodies.Get().(*Body)
	b.x = x
	var err error
	if r.ContentLength >= 0 {
		err = b.readKnown(w, r, most)
	} else {
		err = b.readChunked(w, r, most)
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func (b *Body) readKnown(w http.ResponseWriter, r *http.Request, most Limit) error {
	size := r.ContentLength
	if size == 0 {
		return nil
	}
	if size > MaxBody {
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
		b.Bytes = b.Bytes[:b.room]
		if _, err := io.ReadFull(r.Body, b.Bytes[read:]); err != nil {
			return unread(err)
		}
		read = b.room
	}
	return nil
}

// readChunked doubles its memory as the body arrives, up to one byte more than is allowed.
func (b *Body) readChunked(w http.ResponseWriter, r *http.Request, most Limit) error {
	m, raised := int64(MaxBody), false
	for {
		if int64(len(b.Bytes)) == b.room {
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
		n, err := r.Body.Read(b.Bytes[len(b.Bytes):b.room])
		b.Bytes = b.Bytes[:len(b.Bytes)+n]
		switch {
		case int64(len(b.Bytes)) > m:
			return tooLarge(w, m)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unread(err)
		}
	}
}

// grow makes room for size bytes in all, if the server has it.
func (b *Body) grow(size int64) error {
	if size > unbudgeted {
		if !b.x.Bodies.Take(size - b.taken) {
			return busy("The server is holding as many request bodies as it may; repeat the request shortly.")
		}
		b.taken = size
	}
	b.room = size
	if int64(cap(b.Bytes)) < size {
		b.Bytes = append(make([]byte, 0, size), b.Bytes...)
	}
	return nil
}

// patience lets a large body take longer than the server's read timeout, in proportion to its size.
func (b *Body) patience(w http.ResponseWriter, size int64) {
	if size <= unhurried {
		return
	}
	allowance := bodyGrace + time.Duration(size)*time.Second/bodyRate
	_ = http.NewResponseController(w).SetReadDeadline(b.x.Now().Add(allowance))
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

func unread(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return invalid("", "The request body arrived too slowly; send it faster or in smaller parts.")
	}
	return invalid("", "The request body ended before it was complete; send it again.")
}

func invalid(field, detail string) error {
	return &engine.Error{Code: engine.CodeInvalidRequest, Field: field, Detail: detail, Outcome: engine.NotApplied}
}
