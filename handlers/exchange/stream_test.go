package exchange_test

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// What is streamed is what would be put together in memory, and as long as its header says.
func TestAStreamedAnswerIsTheSame(t *testing.T) {
	t.Parallel()
	texts := []string{"", "x", "\"\\\n\x01", "é", strings.Repeat("é", 100_000), strings.Repeat("x€\x00\"", 50_000), strings.Repeat("😀", 50_001)}
	var want []byte
	write := func(s *exchange.Stream) {
		for _, text := range texts {
			s.Text([]byte(text))
			s.B = append(s.B, ',')
			s.Base64([]byte(text))
			s.B = append(s.B, '\n')
			s.Next()
		}
	}
	for _, text := range texts {
		want = jsonwire.AppendString(want, text)
		want = append(want, ',')
		want = jsonwire.AppendBase64(want, []byte(text))
		want = append(want, '\n')
	}
	w := httptest.NewRecorder()
	if err := exchange.SendStream(w, 200, []string{"application/json"}, write); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); got != string(want) {
		t.Errorf("the answer has %d bytes and differs from the %d that it should have", len(got), len(want))
	}
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(len(want)) {
		t.Errorf("Content-Length = %s, want %d", got, len(want))
	}
}
