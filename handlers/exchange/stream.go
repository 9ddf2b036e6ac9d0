package exchange

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

const (
	// streamFrom is the size of an answer from which on it is not put together in memory.
	streamFrom = 256 << 10
	// streamPiece is how much of one is in memory at a time.
	streamPiece = 48 << 10 // what base64 makes of it is whole, too
)

// Stream is a large answer on its way to a client, of which only a piece is in memory at a time. It is written twice: the
// first time only its length is found out, since a client must know whether it got all of the answer.
type Stream struct {
	// B is the piece. Whoever appends to it calls Next now and then.
	B []byte
	// w is nil while the length is found out.
	w   http.ResponseWriter
	n   int64
	err error
}

// Streams says whether an answer with so many bytes of messages is streamed.
func Streams(size int64) bool { return size > streamFrom }

// SendStream writes an answer that the function writes. The error is that of the connection.
func SendStream(w http.ResponseWriter, status int, contentType []string, write func(*Stream)) error {
	a := NewAnswer()
	defer a.Release()
	s := &Stream{B: a.Bytes}
	write(s)
	s.flush()
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.FormatInt(s.n, 10)}
	w.WriteHeader(status)
	s.w, s.n = w, 0
	write(s)
	s.flush()
	a.Bytes = s.B
	return s.err
}

// Counting says that the stream is written for the first time, and will be again.
func (s *Stream) Counting() bool { return s.w == nil }

// Next writes what there is if it is a piece.
func (s *Stream) Next() {
	if len(s.B) >= streamPiece {
		s.flush()
	}
}

func (s *Stream) flush() {
	s.n += int64(len(s.B))
	if s.w != nil && s.err == nil {
		_, s.err = s.w.Write(s.B)
	}
	s.B = s.B[:0]
}

// Text writes a JSON string, like [jsonwire.AppendString].
func (s *Stream) Text(text []byte) {
	if len(text) <= streamPiece {
		s.B = jsonwire.AppendString(s.B, text)
		s.Next()
		return
	}
	if s.Counting() {
		s.n += int64(jsonwire.StringLen(text))
		return
	}
	s.B = append(s.B, '"')
	for len(text) > 0 && s.err == nil {
		n := pieceOf(text)
		start := len(s.B)
		s.B = jsonwire.AppendString(s.B, text[:n])
		s.B = append(s.B[:start], s.B[start+1:len(s.B)-1]...) // without its quotes
		text = text[n:]
		s.Next()
	}
	s.B = append(s.B, '"')
}

// pieceOf is the length of a piece of a text that does not end within a character.
func pieceOf(text []byte) int {
	if len(text) <= streamPiece/4 {
		return len(text)
	}
	n := streamPiece / 4
	for back := 0; back < utf8.UTFMax-1 && !utf8.RuneStart(text[n]); back++ {
		n--
	}
	return n
}

// Base64 writes a JSON string, like [jsonwire.AppendBase64].
func (s *Stream) Base64(p []byte) {
	if s.Counting() {
		s.n += int64(jsonwire.Base64Len(p))
		return
	}
	s.B = append(s.B, '"')
	for len(p) > 0 && s.err == nil {
		n := min(len(p), streamPiece/4*3)
		s.B = base64.StdEncoding.AppendEncode(s.B, p[:n])
		p = p[n:]
		s.Next()
	}
	s.B = append(s.B, '"')
}
