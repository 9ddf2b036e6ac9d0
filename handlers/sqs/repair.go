package sqs

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A text that is not Unicode makes all of a request unreadable, but it is one entry of a batch that is at fault. So where
// entries are judged one by one, what is not Unicode in them becomes a character that is, and that no message and no
// parameter of an entry may have: then that entry alone is refused.

const (
	// noncharacter is that character, and noncharacterEscape the digits of its escape in JSON.
	noncharacter       = "\uffff"
	noncharacterEscape = "ffff"
	// maxRepaired is the most bytes of a request that is repaired: several times what the messages of a batch may have.
	maxRepaired = 8 << 20
)

// hasEntries says whether the request is about messages, each of which is judged by itself.
func hasEntries(request any) bool {
	switch request.(type) {
	case *sendMessageRequest, *sendMessageBatchRequest, *deleteMessageBatchRequest, *changeMessageVisibilityBatchRequest:
		return true
	}
	return false
}

// repaired is text with the noncharacter in place of what is not UTF-8.
func repaired(text string) string { return strings.ToValidUTF8(text, noncharacter) }

// repairedJSON is a text of JSON with the noncharacter in place of surrogates without their other half, and of what is not
// UTF-8; false when it has neither, or is too long to be a request with entries.
func repairedJSON(text []byte) ([]byte, bool) {
	if len(text) > maxRepaired {
		return nil, false
	}
	out := bytes.ToValidUTF8(text, []byte(noncharacter))
	changed := !utf8.Valid(text)
	for i := 0; i < len(out); {
		if out[i] != '\\' {
			i++
			continue
		}
		r, ok := escapedRune(out[i:])
		switch {
		case !ok:
			i += 2 // an escape of one character
		case !utf16.IsSurrogate(r):
			i += escapeLength
		default:
			if low, ok := escapedRune(out[i+escapeLength:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				i += 2 * escapeLength
				continue
			}
			copy(out[i+len(`\u`):], noncharacterEscape)
			changed = true
			i += escapeLength
		}
	}
	return out, changed
}

// escapeLength is that of an escape with four digits.
const escapeLength = len(`\uffff`)

// escapedRune is the unit of UTF-16 that the text begins with an escape of.
func escapedRune(text []byte) (rune, bool) {
	if len(text) < escapeLength || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, digit := range text[len(`\u`):escapeLength] {
		switch {
		case digit >= '0' && digit <= '9':
			digit -= '0'
		case digit >= 'a' && digit <= 'f':
			digit -= 'a' - 10
		case digit >= 'A' && digit <= 'F':
			digit -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
