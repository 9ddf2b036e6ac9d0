package jsonwire_test

import (
	"testing"

	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

func FuzzLengths(f *testing.F) {
	for _, s := range []string{"", "x", "plain text", "\"\\/\n\r\t\x00\x1f\x7f", "é€😀", "\xff", "12345678\"12345678", "1234567é", "\xed\xa0\x80x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if got, want := jsonwire.StringLen(s), len(jsonwire.AppendString(nil, s)); got != want {
			t.Errorf("StringLen(%q) = %d, want %d", s, got, want)
		}
		if got, want := jsonwire.Base64Len(s), len(jsonwire.AppendBase64(nil, s)); got != want {
			t.Errorf("Base64Len(%q) = %d, want %d", s, got, want)
		}
	})
}
