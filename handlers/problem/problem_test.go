package problem_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/problem"
)

func TestWriteAnswersWithEveryMember(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	rec.Header().Set("X-Request-Id", "r-1")

	problem.Write(rec, problem.Problem{
		Status:     http.StatusServiceUnavailable,
		Code:       "unavailable",
		Detail:     "a name with \xff in it",
		Field:      "messages[2].delay",
		Outcome:    engine.Unknown,
		RetryAfter: 1200 * time.Millisecond,
	})

	want := map[string]any{
		"type":       "urn:dabba:problem:unavailable",
		"title":      "Service Unavailable",
		"status":     503.0,
		"detail":     "a name with \ufffd in it",
		"code":       "unavailable",
		"field":      "messages[2].delay",
		"request_id": "r-1",
		"outcome":    "unknown",
	}
	var got map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatalf("decode %q: %v", rec.Body, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"Content-Type": problem.ContentType, "Retry-After": "2"} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
}

func TestWriteHasSafeDefaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		give       problem.Problem
		retryAfter string
		challenge  string
	}{
		{"no retry time still asks for a second", problem.Problem{Status: http.StatusTooManyRequests}, "1", ""},
		{"a full disk is worth coming back to", problem.Problem{Status: http.StatusInsufficientStorage, RetryAfter: 5 * time.Second}, "5", ""},
		{"a bad request is not worth repeating", problem.Problem{Status: http.StatusBadRequest}, "", ""},
		{"a challenge is passed on", problem.Problem{Status: http.StatusUnauthorized, Challenge: "Bearer"}, "", "Bearer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			problem.Write(rec, tc.give)
			if got := rec.Header().Get("Retry-After"); got != tc.retryAfter {
				t.Errorf("Retry-After = %q, want %q", got, tc.retryAfter)
			}
			if got := rec.Header().Get("WWW-Authenticate"); got != tc.challenge {
				t.Errorf("WWW-Authenticate = %q, want %q", got, tc.challenge)
			}
			var got struct{ Outcome string }
			if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || got.Outcome != "not_applied" {
				t.Errorf("outcome = %q (%v), want not_applied", got.Outcome, err)
			}
		})
	}
}
