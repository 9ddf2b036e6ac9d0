package rest

import (
	"encoding/base64"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// A budget is only as good as what is charged to it: what a decoder leaves on the heap is no more than what is taken for it
// before it runs, whatever the text is like, and not too little either.
func TestWhatIsDecodedIsCharged(t *testing.T) {
	pairs := func(n int, name, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":%s`, name, i, value)
		}
		return "{" + b.String()[1:] + "}"
	}
	list := func(n int, one string) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	body64 := base64.StdEncoding.EncodeToString(make([]byte, 4<<20))
	for name, tt := range map[string]struct {
		text string
		into func() any
	}{
		"a text":               {`{"body":"` + strings.Repeat("x", 4<<20) + `"}`, func() any { return new(SendRequest) }},
		"an escaped text":      {`{"body":"` + strings.Repeat(`\n`, 4<<20) + `"}`, func() any { return new(SendRequest) }},
		"base64":               {`{"body_base64":"` + body64 + `"}`, func() any { return new(SendRequest) }},
		"small messages":       {`{"messages":` + list(1000, `{"body":""}`) + `}`, func() any { return new(SendRequest) }},
		"scheduled messages":   {`{"messages":` + list(1000, `{"body":"","delay":1,"ttl":1}`) + `}`, func() any { return new(SendRequest) }},
		"attributes":           {`{"messages":` + list(1000, `{"body":"","attributes":`+pairs(250, "a", `""`)+`}`) + `}`, func() any { return new(SendRequest) }},
		"too many attributes":  {`{"messages":` + list(900, `{"body":"","attributes":`+pairs(900, "a", `""`)+`}`) + `}`, func() any { return new(SendRequest) }},
		"attributes, values":   {`{"messages":` + list(100, `{"body":"","attributes":`+pairs(250, "a", `"x"`)+`}`) + `}`, func() any { return new(SendRequest) }},
		"typed attributes":     {`{"messages":` + list(100, `{"body":"","attributes":`+pairs(250, "a", `{"type":"T","value":""}`)+`}`) + `}`, func() any { return new(SendRequest) }},
		"faulty messages":      {`{"messages":` + list(1000, `{"body":"x","delay":"soon"}`) + `}`, func() any { return new(SendRequest) }},
		"records with headers": {`{"records":` + list(1000, `{"value":"","headers":`+pairs(250, "h", `""`)+`}`) + `}`, func() any { return new(ProduceRequest) }},
		"receipts":             {`{"receipts":` + list(1000, `"`+strings.Repeat("x", 4000)+`"`) + `}`, func() any { return new(AckRequest) }},
		"short receipts":       {`{"receipts":` + list(1000, `""`) + `}`, func() any { return new(AckRequest) }},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(tt.text)
			took := int64(math.MaxInt64)
			for range 3 { // the least counts: the process does other things meanwhile
				took = min(took, decodedSize(t, text, tt.into()))
			}
			charged := jsonwire.Decoded(text)
			t.Logf("%d bytes take %d once decoded (%.1f times), charged are %d", len(text), took, float64(took)/float64(len(text)), charged)
			const around = 128 << 10 // what else the process does meanwhile
			if took > charged+around {
				t.Errorf("%d bytes take %d once decoded, charged are only %d", len(text), took, charged)
			}
		})
	}
}

// decodedSize is by how many bytes the heap grows with what a text is decoded into.
func decodedSize(t *testing.T, text []byte, into any) int64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := decode(text, into); err != nil {
		t.Fatal(err)
	}
	var messages []engine.Message
	if send, ok := into.(*SendRequest); ok {
		for i := range send.Messages {
			messages = append(messages, send.Messages[i].engine(""))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(into)
	runtime.KeepAlive(messages)
	runtime.KeepAlive(text)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}
