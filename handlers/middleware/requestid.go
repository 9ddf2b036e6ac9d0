package middleware

import (
	"encoding/hex"
	"io"
	"strconv"
	"sync/atomic"
)

// RequestIDHeader carries the id of a request in both directions. It is in canonical form, so that it may index a
// header map.
const RequestIDHeader = "X-Request-Id"

// maxRequestID bounds an id that a client chose: it is logged and echoed.
const maxRequestID = 128

// IDs hands out request ids: a random prefix drawn once and a counter. They are unique, not secret, and cost no
// system call.
type IDs struct {
	prefix string
	next   atomic.Uint64
}

// NewIDs draws the prefix from random, which crypto/rand.Reader is in a server: one that never fails.
func NewIDs(random io.Reader) *IDs {
	var b [6]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic("middleware: no randomness: " + err.Error())
	}
	return &IDs{prefix: hex.EncodeToString(b[:]) + "-"}
}

// Next returns a new id.
func (ids *IDs) Next() string {
	var b [32]byte
	id := append(b[:0], ids.prefix...)
	return string(strconv.AppendUint(id, ids.next.Add(1), 36))
}

// sane says whether an id a client chose may be logged and echoed as it is.
func sane(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' || id[i] == '"' || id[i] == '\\' {
			return false
		}
	}
	return true
}
