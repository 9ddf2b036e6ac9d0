package sqs

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

// What a request takes once it is decoded is charged before, in both protocols: see the test of the same name in package rest.
func TestWhatIsDecodedIsCharged(t *testing.T) {
	var attributes, parameters strings.Builder
	for i := range 300 {
		fmt.Fprintf(&attributes, `,"a%d":{"DataType":"String","StringValue":"x"}`, i)
	}
	batch := func(n int, entry string) string {
		return `{"Entries":[` + strings.Repeat(entry+",", n-1) + entry + `]}`
	}
	for i := range 9000 {
		fmt.Fprintf(&parameters, "&MessageAttribute.%d.Name=a", i+1)
	}
	for name, tt := range map[string]struct {
		kind, body string
		into       any
	}{
		"text":                 {jsonType, `{"MessageBody":"` + strings.Repeat("x", 1<<20) + `"}`, new(sendMessageRequest)},
		"escaped text":         {jsonType, `{"MessageBody":"` + strings.Repeat(`\n`, 1<<20) + `"}`, new(sendMessageRequest)},
		"attributes":           {jsonType, batch(10, `{"MessageAttributes":{`+attributes.String()[1:]+`}}`), new(sendMessageBatchRequest)},
		"entries":              {jsonType, batch(9000, `{}`), new(sendMessageBatchRequest)},
		"names":                {jsonType, `{"MessageAttributeNames":["` + strings.Repeat(`x","`, 9000) + `x"]}`, new(receiveMessageRequest)},
		"a form":               {"application/x-www-form-urlencoded", "Action=SendMessage&MessageBody=" + strings.Repeat("x", 1<<20), new(sendMessageRequest)},
		"an escaped form":      {"application/x-www-form-urlencoded", "Action=SendMessage&MessageBody=" + url.QueryEscape(strings.Repeat("é", 1<<19)), new(sendMessageRequest)},
		"a form of many parts": {"application/x-www-form-urlencoded", "Action=SendMessage" + parameters.String(), new(sendMessageRequest)},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
			r.Header.Set("Content-Type", tt.kind)
			body := []byte(tt.body)
			p := newProtocol(r, body)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := p.decode(tt.into); err != nil {
				t.Logf("refused: %v", err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			t.Logf("%d bytes take %d once decoded (%.1f times), charged are %d", len(body), took, float64(took)/float64(len(body)), p.decoded())
			const around = 128 << 10 // what else the process does meanwhile
			if took > p.decoded()+around {
				t.Errorf("%d bytes take %d once decoded, charged are only %d", len(body), took, p.decoded())
			}
			runtime.KeepAlive(tt.into)
			runtime.KeepAlive(body)
		})
	}
}
