package integration

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepeatAfterKillBeforeAnswer kills the server between the commit of a send and its answer: the repeat with the
// same key gets the first outcome, and the messages are there once.
func TestRepeatAfterKillBeforeAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		contentType, body string
		messages          int64
		other             string // another request, for which the key is taken
	}{
		"one":     {"application/json", `{"body":"hello","attributes":{"a":"b"}}`, 1, `{"body":"hello","attributes":{"a":"c"}}`},
		"delayed": {"application/json", `{"body":"hello","delay":"1h"}`, 1, `{"body":"hello","delay":"2h"}`},
		"many":    {"application/json", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`, 3, `{"messages":[{"body":"a"},{"body":"b"}]}`},
		// One of the three is refused, the first time and the second.
		"partly refused": {"application/json", `{"messages":[{"body":"a"},{"body":"` + strings.Repeat("b", 2000) + `"},{"body":"c"}]}`, 2, `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`},
		"raw":            {"image/png", "\x89PNG\r\n\x1a\n\x00", 1, "\x89PNG\r\n\x1a\n\x01"},
		"empty":          {"application/json", `{"body":""}`, 1, `{"body":" "}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			srv := start(t, data)
			srv.client().create("q", `{"max_message_bytes":1000}`)
			const path = "/v1/queues/q/messages"
			swallowed := loseAnswer(t, srv, path, tt.contentType, tt.body, "Idempotency-Key", "k 1")
			if !bytes.HasPrefix(swallowed, []byte("HTTP/1.1 200")) {
				t.Fatalf("the server had answered %q", swallowed)
			}
			first := parseAnswer(t, swallowed)
			if first.duplicate {
				t.Fatalf("the first answer says duplicate: %s", swallowed)
			}

			srv = start(t, data)
			c := srv.client().with("Idempotency-Key", "k 1", "Content-Type", tt.contentType)
			for range 2 {
				var again sent
				c.post(path, tt.body).want(http.StatusOK).into(&again)
				if !again.Duplicate || again.ids() != first.ids {
					t.Errorf("the repeat answered %+v, want duplicate and the first outcome %s", again, first.ids)
				}
			}
			if got := srv.client().counts("q"); got.Ready+got.Delayed != tt.messages {
				t.Errorf("counts = %+v, want %d messages", got, tt.messages)
			}
			c.post(path, tt.other).refused(http.StatusUnprocessableEntity, "idempotency_key_reused")
		})
	}
}

// TestKeysArePerPathAndOutliveTheirMessages: a key counts on its own path only, and still when the message is gone.
func TestKeysArePerPathAndOutliveTheirMessages(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	srv := start(t, data)
	c := srv.client()
	c.create("q", "")
	c.create("other", "")
	keyed := c.with("Idempotency-Key", "same")
	id := keyed.send("q", "x")
	if other := keyed.send("other", "x"); other == id {
		t.Errorf("the same key on another path gave the same message, %s", id)
	}
	got := c.receive("q", "")
	c.settle("q", "ack", `{"receipts":`+receipts(got)+`}`)
	srv.kill()

	c = start(t, data).client()
	var again sent
	c.with("Idempotency-Key", "same").post("/v1/queues/q/messages", `{"body":"x"}`).want(http.StatusOK).into(&again)
	if !again.Duplicate || again.ID != id {
		t.Errorf("the repeat after ack and kill answered %+v, want a duplicate of %s", again, id)
	}
	if got := c.counts("q"); got != (counts{}) {
		t.Errorf("counts = %+v, want an empty queue", got)
	}
}

// sent is the answer to a send.
type sent struct {
	ID        string
	Duplicate bool
	Results   []struct {
		ID    string
		Error *struct{ Code string }
	}
}

// ids lists the outcomes.
func (s sent) ids() string {
	list := []string{s.ID}
	for _, result := range s.Results {
		if result.Error != nil {
			result.ID = result.Error.Code
		}
		list = append(list, result.ID)
	}
	return strings.Join(list, " ")
}

type firstAnswer struct {
	ids       string
	duplicate bool
}

// parseAnswer reads a whole answer from what a connection carried.
func parseAnswer(t *testing.T, raw []byte) firstAnswer {
	t.Helper()
	_, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok {
		t.Fatalf("the server had answered only %q", raw)
	}
	var s sent
	(&answer{t: t, request: "the first send", body: body}).into(&s)
	return firstAnswer{s.ids(), s.Duplicate}
}
