package rest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestReceiveOfNothingIsAnEmptyList(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	if got := string(srv.Post("/v1/queues/q/receive", "").Want(http.StatusOK).Body); got != `{"messages":[]}`+"\n" {
		t.Errorf("receive = %s, want an empty list", got)
	}
}

func TestReceiveTakesItsSettingsFromBodyQueryOrHeader(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"},{"body":"d"}]}`).Want(http.StatusOK)

	if got := receive(t, srv, `{"max":2,"visibility":"1m","consumer":"worker-7"}`); len(got) != 2 {
		t.Errorf("max 2 in the body gave %d messages", len(got))
	}
	var got rest.ReceiveAnswer
	srv.Post("/v1/queues/q/receive?max=2&wait=20&visibility=45s&consumer=w", "").Want(http.StatusOK).Decode(&got)
	if len(got.Messages) != 2 {
		t.Errorf("max 2 in the query gave %d messages", len(got.Messages))
	}
	srv.Post("/v1/queues/q/receive", "", "Prefer", "respond-async, wait=0").Want(http.StatusOK)
}

func TestReceiveLastsAsLongAsItWasAskedTo(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"visibility":"10s"}`)
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	for body, want := range map[string]time.Duration{``: 10 * time.Second, `{"visibility":"1h"}`: time.Hour} {
		m := one(t, srv, body)
		if got := time.Until(m.Lease.ExpiresAt); got > want+time.Second || got < want-time.Minute {
			t.Errorf("receive %q leases for about %s, want %s", body, got, want)
		}
		if m.Receives != 1 || m.Lease.Token == 0 || time.Since(m.SentAt) > time.Minute {
			t.Errorf("message = %+v, want 1 receive, a token and a send time of now", m)
		}
	}
}

func TestReceiveWaitsForAMessage(t *testing.T) {
	t.Parallel()
	for _, ask := range []struct {
		name, path string
		headers    []string
	}{
		{"query", "/v1/queues/q/receive?wait=20s", nil},
		{"prefer", "/v1/queues/q/receive", []string{"Prefer", "wait=20"}},
	} {
		t.Run(ask.name, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			answered := make(chan rest.ReceiveAnswer, 1)
			go func() {
				var got rest.ReceiveAnswer
				defer func() { answered <- got }()
				srv.Post(ask.path, "", ask.headers...).Decode(&got)
			}()
			eventually(t, "a receive that waits", func() bool { return waiting(t, srv) == 1 })
			srv.Post("/v1/queues/q/messages", `{"body":"at last"}`).Want(http.StatusOK)
			if got := <-answered; len(got.Messages) != 1 || *got.Messages[0].Body != "at last" {
				t.Errorf("waited for %+v, want the message", got)
			}
		})
	}
}

func TestReceiveRepeatedWithItsAttemptIDGivesTheSame(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`).Want(http.StatusOK)
	first := receive(t, srv, `{"max":2,"attempt_id":"one"}`)
	var again rest.ReceiveAnswer
	srv.Post("/v1/queues/q/receive?max=2&attempt_id=one", "").Want(http.StatusOK).Decode(&again)
	if len(first) != 2 || len(again.Messages) != 2 {
		t.Fatalf("received %d and %d messages, want 2 each", len(first), len(again.Messages))
	}
	for i, m := range again.Messages {
		if m.ID != first[i].ID || m.Receipt != first[i].Receipt || m.Receives != 1 {
			t.Errorf("message %d is %s, received %d times, want %s again", i, m.ID, m.Receives, first[i].ID)
		}
	}
	srv.Post("/v1/queues/q/receive?attempt_id=x", `{"attempt_id":"x"}`).Refused(http.StatusBadRequest, "invalid_request", "attempt_id")
}

func TestWhatIsReceivedMayBeDone(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"ack":"on_receive"}`)
	srv.Post("/v1/queues/q/messages", `{"body":"a"}`).Want(http.StatusOK)
	m := one(t, srv, "")
	if got := (engine.Counts{}); counts(t, srv) != got {
		t.Errorf("counts = %+v, want none", counts(t, srv))
	}
	srv.Post("/v1/queues/q/ack", `{"receipts":["`+m.Receipt+`"]}`).Want(http.StatusOK).Has(`{"ok":true}`)
}

func TestReceiveRefuses(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for _, tc := range []struct{ name, query, body, field string }{
		{"none", "?max=0", "", "max"},
		{"fewer than none", "", `{"max":-1}`, "max"},
		{"more than 1000", "", `{"max":1001}`, "max"},
		{"half a message", "", `{"max":1.5}`, "max"},
		{"too long a wait", "?wait=2h", "", "wait"},
		{"a wait into the past", "?wait=-1s", "", "wait"},
		{"a visibility into the past", "", `{"visibility":"-1s"}`, "visibility"},
		{"a number that is not one", "?max=many", "", "max"},
		{"a duration that is not one", "?wait=a+while", "", "wait"},
		{"a duration that does not fit", "", `{"visibility":1e300}`, "visibility"},
		{"the same thing twice", "?max=2", `{"max":2}`, "max"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv.For(t).Post("/v1/queues/q/receive"+tc.query, tc.body).Refused(http.StatusBadRequest, "invalid_request", tc.field)
		})
	}
	srv.Post("/v1/queues/q/receive?wiat=20s", "").Refused(http.StatusBadRequest, "unknown_field", "wiat")
	srv.Post("/v1/queues/q/receive", `{"attempts":1}`).Refused(http.StatusBadRequest, "unknown_field", "attempts")
	srv.Post("/v1/queues/none/receive", "").Refused(http.StatusNotFound, "not_found", "")
}

func TestRawAnswersSayWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"body":"x","attributes":{"plain":"1","none":"","n":{"type":"Number","value":"2"},"omitted":"3",
		"two words":"4","gr\u00f6\u00dfe":"5","Plain":"6","lines":"a\nb"," ":"7","b":{"type":"Binary","value_base64":"eA=="}}}`).Want(http.StatusOK)
	srv.Post("/v1/queues/q/messages", `{"body":"y","attributes":{"plain":"1"}}`).Want(http.StatusOK)

	got := srv.Post("/v1/queues/q/receive", "", "Accept", "application/octet-stream").Want(http.StatusOK).Header
	for name, want := range map[string]string{
		"Dabba-Attr-Plain": "1", "Dabba-Attr-None": "", "Dabba-Attr-N": "2", "Dabba-Attr-Omitted": "3", "Dabba-Omitted-Attributes": "6",
	} {
		if values := got.Values(name); len(values) != 1 || values[0] != want {
			t.Errorf("header %s = %q, want %q", name, values, want)
		}
	}
	if got := srv.Post("/v1/queues/q/receive", "", "Accept", "application/octet-stream").Want(http.StatusOK).Header.Values("Dabba-Omitted-Attributes"); got != nil {
		t.Errorf("an answer with all attributes says that it leaves out %q", got)
	}
}

func TestAcceptIsWeighed(t *testing.T) {
	t.Parallel()
	for accept, raw := range map[string]bool{
		"":                                    false,
		"*/*":                                 false,
		"garbage/":                            false,
		"application/octet-stream":            true,
		"application/octet-stream, */*;q=0.1": true,
		"application/json;q=0.5, application/octet-stream":     true,
		"application/octet-stream, application/json":           true,
		"application/octet-stream;q=0.1, application/json":     false,
		"application/octet-stream;q=0.1, */*":                  false,
		"application/octet-stream;q=0":                         false,
		"application/octet-stream;q=0.5, application/json;q=0": true,
		"application/octet-stream;q=0.5, application/*;q=0.7":  false,
	} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			want := http.StatusOK
			if raw {
				want = http.StatusNoContent
			}
			srv.Post("/v1/queues/q/receive", "", "Accept", accept).Want(want)
		})
	}
}
