package rest

import (
	"bytes"
	standard "encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// BenchmarkStrict decodes a send of ten messages of 1 KiB, refusing unknown fields, with both JSON libraries.
func BenchmarkStrict(b *testing.B) {
	type message struct {
		Body       *string           `json:"body"`
		Attributes map[string]string `json:"attributes"`
	}
	type send struct {
		Messages []message `json:"messages"`
	}
	one := `{"body":"` + strings.Repeat("x", 1024) + `","attributes":{"kind":"book"}}`
	body := []byte(`{"messages":[` + strings.Repeat(one+",", 9) + one + `]}`)
	run := func(name string, decode func(*send) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				var s send
				if err := decode(&s); err != nil || len(s.Messages) != 10 {
					b.Fatalf("decode = %d messages, %v; want 10", len(s.Messages), err)
				}
			}
		})
	}
	run("encoding-json", func(s *send) error {
		d := standard.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		return d.Decode(s)
	})
	run("go-json-experiment", func(s *send) error { return json.Unmarshal(body, s, strict) })
}
