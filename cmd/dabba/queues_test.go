package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCreateDoesNotReplace plays the server for dabba queues create: whatever it answers, the settings of a queue that
// exists must stay as they are.
func TestCreateDoesNotReplace(t *testing.T) {
	t.Parallel()
	problem := func(status int, code, detail string) func(http.ResponseWriter) {
		return answer(status, `{"code":"`+code+`","detail":"`+detail+`"}`)
	}
	tests := map[string]struct {
		get, put func(http.ResponseWriter)
		want     string
	}{
		"it exists":            {answer(200, `{}`), problem(412, "conflict", "It exists."), "the queue q exists already: --replace"},
		"made meanwhile":       {problem(404, "not_found", "No queue."), problem(412, "conflict", "It exists."), "the queue q exists already: --replace"},
		"lost on the way back": {problem(404, "not_found", "No queue."), answer(503, busy), "busy"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			puts := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					tt.get(w)
					return
				}
				puts++
				if got := r.Header.Get("If-None-Match"); got != "*" {
					t.Errorf("%s with If-None-Match %q, want *", r.Method, got)
				}
				tt.put(w)
			}))
			defer server.Close()
			var said bytes.Buffer
			p := program{in: strings.NewReader(""), out: &said, errOut: &said}
			if code := run(p, []string{"queues", "create", "q", "--url", server.URL}); code != exitFailed {
				t.Errorf("run = %d, want %d", code, exitFailed)
			}
			if !strings.Contains(said.String(), tt.want) || puts > 1 {
				t.Errorf("said %q after %d PUTs, want %q after at most one", &said, puts, tt.want)
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

// TestCreateNeedsToKnow: a server that will not say whether the queue exists has not said that it does not.
func TestCreateNeedsToKnow(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Header.Get("If-None-Match") != "*" {
			t.Errorf("%s without a condition", r.Method)
		}
		answer(403, `{"code":"forbidden","detail":"this needs the scope queues:manage:q"}`)(w)
	}))
	defer server.Close()
	var said bytes.Buffer
	p := program{in: strings.NewReader(""), out: &said, errOut: &said}
	if code := run(p, []string{"queues", "create", "q", "--url", server.URL}); code != exitFailed || !strings.Contains(said.String(), "this needs the scope") {
		t.Errorf("run = %d, said %q; want %d and the scope that is missing", code, &said, exitFailed)
	}
}
