package jsonwire_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// FuzzAppendString checks the appender against encoding/json: what it writes reads as the same text.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain text of some length", "\x00\x1f\x7f\"\\/", "é😀\u2028\u2029", "\xff", "12345678\xff", "a\xe2\x82", "\xed\xa0\x80", "1234567\"", "12345678\x1f"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		written := jsonwire.AppendString(nil, s)
		if asString := jsonwire.AppendString(nil, string(s)); string(asString) != string(written) {
			t.Fatalf("AppendString(%q) = %s for bytes and %s for a string", s, written, asString)
		}
		var got string
		if err := json.Unmarshal(written, &got); err != nil || !utf8.Valid(written) {
			t.Fatalf("AppendString(%q) = %s: %v", s, written, err)
		}
		if want := string([]rune(string(s))); got != want {
			t.Fatalf("AppendString(%q) reads as %q, want %q", s, got, want)
		}
	})
}
