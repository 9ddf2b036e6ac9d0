package browser_test

import (
	"net/http/httptest"
	"testing"

	"github.com/dabba-mq/dabba/handlers/browser"
)

// BenchmarkOrdinaryRequest is what the guard costs a client that is no browser.
func BenchmarkOrdinaryRequest(b *testing.B) {
	h := guard(browser.Settings{Keyless: true, Address: every}).Wrap(answering(served))
	rec, r := httptest.NewRecorder(), request("POST", "127.0.0.1:8080", "/v1/queues/q/messages")
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(rec, r)
	}
}
