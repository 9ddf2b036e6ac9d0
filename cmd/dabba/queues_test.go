package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCreateDoesNotReplace plays the server for dabba queues create: whatever it answers, there is one request, which
// leaves the settings of a queue that exists as they are.
func TestCreateDoesNotReplace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"it exists":            {answer(412, `{"code":"conflict","detail":"It exists."}`), "the queue q exists already: --replace"},
		"it may not":           {answer(403, `{"code":"forbidden","detail":"It needs the scope queues:manage:q."}`), "needs the scope"},
		"lost on the way back": {answer(503, busy), "busy"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if got := r.Header.Get("If-None-Match"); r.Method != http.MethodPut || got != "*" {
					t.Errorf("%s with If-None-Match %q, want a PUT with *", r.Method, got)
				}
				tt.answer(w)
			}))
			defer server.Close()
			var said bytes.Buffer
			p := program{in: strings.NewReader(""), out: &said, errOut: &said}
			code := run(p, []string{"queues", "create", "q", "--url", server.URL})
			if code != exitFailed || !strings.Contains(said.String(), tt.want) || requests != 1 {
				t.Errorf("run = %d after %d requests, said %q; want %d after one, and %q", code, requests, &said, exitFailed, tt.want)
			}
		})
	}
}

// TestCreateReplaces sends no condition, and may so be repeated.
func TestCreateReplaces(t *testing.T) {
	t.Parallel()
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" || r.Method != http.MethodPut {
			t.Errorf("%s with If-None-Match %q, want a PUT without", r.Method, r.Header.Get("If-None-Match"))
		}
		if tries++; tries == 1 {
			answer(503, busy, "Retry-After", "0")(w)
			return
		}
		answer(200, `{"name":"q"}`)(w)
	}))
	defer server.Close()
	var said bytes.Buffer
	p := program{in: strings.NewReader(""), out: &said, errOut: &said}
	if code := run(p, []string{"queues", "create", "q", "--replace", "--url", server.URL}); code != exitFine || tries != 2 {
		t.Errorf("run = %d after %d tries, want %d after 2; it said %q", code, tries, exitFine, &said)
	}
}
