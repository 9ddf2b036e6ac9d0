package sqs

import (
	"unicode/utf8"
)

// maxID is how long a group id, a deduplication id and an attempt id may be.
const maxID = 128

// isLegal says whether SQS can carry the text: UTF-8 of the characters that XML 1.0 has.
func isLegal[T string | []byte](s T) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return isLegalBeyondASCII(string(s[i:]))
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			return false
		}
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
