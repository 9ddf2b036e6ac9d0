package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/handlers"
)

// A script learns of an error only if the answer lets it: whoever wrote it.
func TestErrorsMayBeReadByAllowedPages(t *testing.T) {
	t.Parallel()
	const app = "https://app.example"
	srv, issue := withKeys(t)
	config := srv.Config
	config.AllowOrigins = []string{app}
	keyed := handlers.New(config)
	keyless := stock(t, func(c *handlers.Config) { c.AllowOrigins = []string{app} })
	stopping := keyless.config
	if err := handlers.Shutdown(t.Context(), stopping.Readiness, stopping.Engine); err != nil {
		t.Fatal(err)
	}
	admin := handlers.NewAdmin(stopping)
	narrow := issue("", "queues:read:other")[1]
	all := issue("", "admin:*:*")[1]
	amazon := http.Header{"X-Amz-Target": {"AmazonSQS.ListQueues"}, "Content-Type": {"application/x-amz-json-1.0"}}
	tests := []struct {
		name, method, path string
		handler            http.Handler
		headers            http.Header
		length             int64
		host               string
		want               int
	}{
		{name: "no token", method: "GET", path: "/v1/queues", handler: keyed, want: 401},
		{name: "a bad token", method: "GET", path: "/v1/queues", handler: keyed, headers: http.Header{"Authorization": {"Bearer x"}}, want: 401},
		{name: "no scope", method: "GET", path: "/v1/queues/q", handler: keyed, headers: http.Header{"Authorization": {narrow}}, want: 403},
		{name: "no queue", method: "GET", path: "/v1/queues/q", handler: keyed, headers: http.Header{"Authorization": {all}}, want: 404},
		{name: "no path", method: "GET", path: "/v3", handler: keyed, want: 404},
		{name: "no method", method: "PATCH", path: "/v1/queues", handler: keyed, want: 405},
		{name: "no signature", method: "POST", path: "/", handler: keyed, headers: amazon, want: 403},
		{name: "too large", method: "POST", path: "/v1/queues/q/messages", handler: keyless.handler, length: 1 << 40, want: 413},
		{name: "too large for SQS", method: "POST", path: "/", handler: keyless.handler, headers: amazon, length: 1 << 40, want: 413},
		{name: "stopping", method: "GET", path: "/readyz", handler: admin, want: 503},
		{name: "misdirected", method: "GET", path: "/v1/queues", handler: keyless.handler, host: "evil.example", want: 421},
		{name: "misdirected to SQS", method: "POST", path: "/", handler: keyless.handler, headers: amazon, host: "evil.example", want: 421},
	}
	for _, tt := range tests {
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader("{}"))
		r.Host = ownHost
		if tt.host != "" {
			r.Host = tt.host
		}
		if tt.headers != nil {
			r.Header = tt.headers.Clone()
		}
		if tt.length != 0 {
			r.ContentLength = tt.length
		}
		r.Header.Set("Origin", app)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		rec := httptest.NewRecorder()
		tt.handler.ServeHTTP(rec, r)
		if rec.Code != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.name, rec.Code, rec.Body, tt.want)
		}
		h := rec.Header()
		if h.Get("Access-Control-Allow-Origin") != app || !strings.Contains(strings.Join(h.Values("Vary"), ", "), "Origin") {
			t.Errorf("%s: Access-Control-Allow-Origin: %q, Vary: %q, want %s and Origin", tt.name, h.Get("Access-Control-Allow-Origin"), h.Values("Vary"), app)
		}
		for _, name := range []string{"ETag", "Retry-After", "X-Request-Id", "X-Amzn-Requestid", "X-Amzn-Query-Error", "Dabba-Receipt", "*"} {
			exposed := ", " + h.Get("Access-Control-Expose-Headers") + ","
			if !strings.Contains(exposed, ", "+http.CanonicalHeaderKey(name)+",") {
				t.Errorf("%s: Access-Control-Expose-Headers: %s, want %s in it", tt.name, exposed, name)
			}
		}
	}
}

// With keys the Authorization header protects what is stored, and a foreign page is refused all the same.
func TestForeignPagesAreRefusedWithKeys(t *testing.T) {
	t.Parallel()
	srv, issue := withKeys(t)
	token := issue("", "admin:*:*")
	srv.Put("/v1/queues/q", "", token...).Want(http.StatusCreated)
	srv.Get("/v1/queues/q", append(token, "Origin", "https://evil.example")...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Get("/v1/queues/q", append(token, "Sec-Fetch-Site", "cross-site")...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Get("/v1/queues/q", append(token, "Origin", srv.URL, "Sec-Fetch-Site", "same-origin")...).Want(http.StatusOK)
}
