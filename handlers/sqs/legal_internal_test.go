package sqs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzLegal holds the fast way against the rule as it is written.
func FuzzLegal(f *testing.F) {
	for _, seed := range []string{
		"", "a", "\x00", "12345678\x1f", "1234567\t12345678\n\r", "~\x7f\u0080", "\ufffd", "\xff", "1234567\xc3", "\ufffe", "\uffff",
		"\U0010ffff", "ä\x0b", "12345678é", strings.Repeat("x", 100) + "\x1e", "\x1f2345678", "\xed\xa0\x80",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := utf8.ValidString(s)
		for _, r := range s {
			legal := r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
			want = want && legal
		}
		if got := isLegal(s); got != want {
			t.Errorf("isLegal(%q) = %v, want %v", s, got, want)
		}
	})
}
