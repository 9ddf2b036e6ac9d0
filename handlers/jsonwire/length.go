package jsonwire

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// StringLen is the number of bytes that [AppendString] appends for s.
func StringLen(s []byte) int {
	n := 2 + len(s)
	for i := 0; i < len(s); {
		if skip := plain(s, i); skip > 0 {
			i += skip
			continue
		}
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				n += len("\ufffd") - 1
			}
			i += size
			continue
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
		i++
	}
	return n
}

// Base64Len is the number of bytes that [AppendBase64] appends for p.
func Base64Len(p []byte) int { return 2 + base64.StdEncoding.EncodedLen(len(p)) }

// What a value takes once it is decoded, besides its own bytes: one in an object or a list (its slot, which may have grown to
// twice what is needed, and a small allocation or two), an object that becomes a message, in the request and for the engine,
// and a request. They are held against the decoders by tests.
const (
	memberCost  = 80
	objectCost  = 480
	requestCost = 4 << 10
)

// Values is about how much memory the values of a JSON text take once they are decoded, without their bytes.
func Values(text []byte) int64 {
	// Each value but the first of its object or list comes after a comma, and the first after a bracket. There may be more of
	// these in strings, but hardly in those that are large.
	members := bytes.Count(text, []byte(",")) + bytes.Count(text, []byte("["))
	return requestCost + memberCost*int64(members) + objectCost*int64(bytes.Count(text, []byte("{")))
}

// Decoded is about how much memory the values of a JSON text take once they are decoded, beside the text: all of its bytes
// once more, and something for each value. It is more than any decoder here takes of any text.
func Decoded(text []byte) int64 { return int64(len(text)) + Values(text) }
