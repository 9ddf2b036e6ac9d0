package sqs

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxID is how long a group id, a deduplication id and an attempt id may be.
const maxID = 128

// isLegal says whether SQS can carry the text: UTF-8 of the characters that XML 1.0 has. It looks at eight bytes at once
// while they are ASCII without control characters ("Determine if a word has a byte less than n", from Sean Anderson's Bit
// Twiddling Hacks).
func isLegal(s string) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	b := bytesOf(s)
	for i := 0; i < len(b); {
		if len(b)-i >= 8 {
			if w := binary.LittleEndian.Uint64(b[i:]); (w|(w-ones*' '))&highs == 0 {
				i += 8
				continue
			}
		}
		switch c := b[i]; {
		case c >= utf8.RuneSelf:
			return isLegalBeyondASCII(s[i:])
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			return false
		}
		i++
	}
	return true
}

func isLegalBeyondASCII(s string) bool {
	for i, r := range s {
		switch r {
		case '\t', '\n', '\r':
		case '\uFFFE', '\uFFFF':
			return false
		case utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		default:
			if r < ' ' {
				return false
			}
		}
	}
	return true
}

// checkID says what is wrong with the id of a group, of a duplicate or of an attempt; nil if nothing is.
func checkID(parameter, id string) *fault {
	ok := id != "" && len(id) <= maxID
	for i := range len(id) {
		ok = ok && id[i] > ' ' && id[i] <= '~'
	}
	if ok {
		return nil
	}
	return invalidValue(id, parameter, parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}
