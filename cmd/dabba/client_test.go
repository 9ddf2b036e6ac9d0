package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// answers is a server that gives prepared answers, one a request, and notes the requests.
func answers(t *testing.T, list ...func(http.ResponseWriter)) (c *client, requests func() []string) {
	t.Helper()
	var mu sync.Mutex // a cut connection does not order the handler before the client's error
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read a request: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Idempotency-Key")+" "+string(body))
		if len(seen) > len(list) {
			t.Errorf("request %d was not expected", len(seen))
			return
		}
		list[len(seen)-1](w)
	}))
	t.Cleanup(server.Close)
	return &client{base: server.URL, http: server.Client()}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func answer(status int, body string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

const busy = `{"status":503,"code":"unavailable","detail":"busy","outcome":"unknown"}`

func TestCallRepeatsUnderTheSameKey(t *testing.T) {
	t.Parallel()
	c, seen := answers(t, answer(503, busy, "Retry-After", "0"), cut, answer(500, "oops"), answer(200, `{"id":"a"}`))
	var out struct {
		ID string `json:"id"`
	}
	err := c.call(t.Context(), request{method: http.MethodPost, path: "/v1/x", body: map[string]string{"body": "b"}, key: "k-1"}, &out)
	if err != nil || out.ID != "a" {
		t.Errorf("call = %v, id %q; want a", err, out.ID)
	}
	if len(seen()) != 4 {
		t.Errorf("%d requests, want 4", len(seen()))
	}
	for i, got := range seen() {
		if want := `k-1 {"body":"b"}`; got != want {
			t.Errorf("request %d: %q, want %q", i+1, got, want)
		}
	}
}

func TestCallDoesNotRepeat(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key    string
		answer func(http.ResponseWriter)
		want   string
	}{
		"without a key":      {"", answer(503, busy), "busy"},
		"cut, without a key": {"", cut, "reach the server at http://127.0.0.1"},
		"refused for good":   {"k", answer(422, `{"status":422,"code":"idempotency_key_reused","detail":"other content"}`), "other content"},
		"no token":           {"k", answer(401, `{"code":"unauthenticated","detail":"No token."}`), "The server wants a token: give one with --token or DABBA_TOKEN; dabba token issues one."},
		"another program":    {"k", answer(404, "<html>nothing here"), "404 Not Found: is --url that of a Dabba server?"},
		"garbage":            {"k", answer(200, "<html>hello"), "does not answer like a Dabba server"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, seen := answers(t, tt.answer)
			var out map[string]any
			err := c.call(t.Context(), request{method: http.MethodPost, path: "/v1/x", key: tt.key}, &out)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("call = %v, want an error with %q", err, tt.want)
			}
			if len(seen()) != 1 {
				t.Errorf("%d requests, want 1", len(seen()))
			}
		})
	}
}

func TestAnswerErrorIsFound(t *testing.T) {
	t.Parallel()
	c, _ := answers(t, answer(404, `{"code":"not_found","detail":"no such queue"}`))
	err := c.call(t.Context(), request{method: http.MethodGet, path: "/v1/queues/q"}, nil)
	a, ok := errors.AsType[*answerError](err)
	if !ok || a.Status != 404 || a.Code != "not_found" {
		t.Errorf("call = %#v, want an *answerError with not_found", err)
	}
}
