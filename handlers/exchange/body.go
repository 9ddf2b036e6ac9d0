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
	"github.com/dabba-mq/dabba/handlers/jsonwire"
	"github.com/dabba-mq/dabba/memlimit"
)

const (
	// pooledBody is the most a buffer may hold to be kept for the next request.
	pooledBody = 64 << 10
	// firstRead is the most memory that a body gets before any of it has arrived, and growth how many times as much it gets
	// each time it has filled what it has.
	firstRead = 16 << 10
	growth    = 4
	// unhurried is the size up to which the server's own read timeout is enough for a slow client.
	unhurried = 256 << 10
	// progress is how long a client may take to send the next step bytes of a larger body.
	progress = 10 * time.Second
	step     = 256 << 10
)

// Body is a request body in pooled memory. It is valid until Release.
type Body struct {
	// Bytes are the whole of it.
	Bytes []byte
	share *memlimit.Share
	taken int64 // how much of the share is for it
	read  int64 // how much was read when the client last got more time
	x     *Exchange
}

var bodies = sync.Pool{New: func() any { return new(Body) }}

// Release gives the memory back. The bytes, and everything that shares memory with them, are not valid any more.
func (b *Body) Release() {
	b.share.Shrink(b.taken)
	if cap(b.Bytes) > pooledBody {
		b.Bytes = nil
	}
	*b = Body{Bytes: b.Bytes[:0]}
	bodies.Put(b)
}

// Decoding takes memory for what is going to be decoded from the body, as estimated by the caller. The request keeps it.
func (b *Body) Decoding(size int64) error { return b.share.Grow(size) }

// DecodingJSON is Decoding of all of the body.
func (b *Body) DecodingJSON() error { return b.Decoding(jsonwire.Decoded(b.Bytes)) }

// Limit is the most a request's body may be, asked only when it is more than [MaxBody].
type Limit func(context.Context) (int64, error)

// Usual is the limit of all calls that carry no messages.
func Usual(context.Context) (int64, error) { return MaxBody, nil }

// Read takes in the whole request body. One that says to be too long is refused before any of it is read. The request's
// share of the memory grows with what has arrived.
func (x *Exchange) Read(w http.ResponseWriter, r *http.Request, most Limit) (*Body, error) {
	if err := plainBody(w, r); err != nil {
		return nil, err
	}
	b, _ := bodies.Get().(*Body)
	b.x, b.share = x, memlimit.From(r.Context())
	if err := b.readAll(w, r, most); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// readAll reads the body into memory that grows as it arrives: to all of it if its length is known, else to one byte more
// than is allowed.
func (b *Body) readAll(w http.ResponseWriter, r *http.Request, most Limit) error {
	size, m, raised := r.ContentLength, int64(MaxBody), false
	if size > MaxBody {
		var err error
		if m, err = most(r.Context()); err != nil {
			return err
		}
		if raised = true; size > m {
			return tooLarge(w, m)
		}
		if err := b.x.Budget.Possible(size); err != nil {
			return err
		}
	}
	for {
		room := int64(cap(b.Bytes))
		if room = min(room, b.taken); int64(len(b.Bytes)) == room {
			if size >= 0 && room >= size {
				return nil
			}
			next := max(firstRead, growth*room)
			if next > m && !raised && size < 0 {
				var err error
				if m, err = most(r.Context()); err != nil {
					return err
				}
				raised = true
			}
			if next = min(next, m+1); size >= 0 {
				next = min(next, size)
			}
			if err := b.begin(size, next); err != nil {
				return err
			}
			if err := b.grow(next); err != nil {
				return err
			}
			room = next
		}
		b.patience(w)
		n, err := r.Body.Read(b.Bytes[len(b.Bytes):min(room, int64(len(b.Bytes))+step)])
		b.Bytes = b.Bytes[:len(b.Bytes)+n]
		switch {
		case int64(len(b.Bytes)) > m:
			return tooLarge(w, m)
		case int64(len(b.Bytes)) == size, size < 0 && errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unread(err)
		}
	}
}

// begin looks whether there is room for the rest of a body of a known size before it becomes a large one. Were all large
// bodies begun and then refused half-way, none would get through.
func (b *Body) begin(size, next int64) error {
	const copies = 2 // it is decoded, or made ready for the store
	if b.taken > memlimit.Small || next <= memlimit.Small || size < 0 {
		return nil
	}
	return b.x.Budget.Look(copies*size - b.taken)
}

// grow makes room for size bytes in all, if the server has it.
func (b *Body) grow(size int64) error {
	if err := b.share.Grow(size - b.taken); err != nil {
		return err
	}
	b.taken = size
	if int64(cap(b.Bytes)) < size {
		b.Bytes = append(make([]byte, 0, size), b.Bytes...)
	}
	return nil
}

// patience gives a large body more time than the server's read timeout for as long as it keeps arriving.
func (b *Body) patience(w http.ResponseWriter) {
	if n := int64(len(b.Bytes)); n >= unhurried && n-b.read >= step {
		b.read = n
		_ = http.NewResponseController(w).SetReadDeadline(b.x.Now().Add(progress))
	}
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
