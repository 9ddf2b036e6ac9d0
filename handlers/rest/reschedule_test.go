package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestReschedule(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	path := sendOne(t, srv, `{"body":"x","delay":"1h"}`)
	tomorrow := time.Now().Add(24 * time.Hour)
	for _, tc := range []struct {
		patch string
		due   time.Duration // 0 for ready
	}{
		{`{}`, time.Hour},
		{``, time.Hour},
		{`{"delay":"2h"}`, 2 * time.Hour},
		{`{"delay":7200}`, 2 * time.Hour},
		{fmt.Sprintf(`{"deliver_at":%q}`, tomorrow.Format(time.RFC3339)), 24 * time.Hour},
		{fmt.Sprintf(`{"delay":"2h","deliver_at":%q}`, tomorrow.Format(time.RFC3339)), 24 * time.Hour},
		{fmt.Sprintf(`{"delay":null,"deliver_at":%q}`, tomorrow.Format(time.RFC3339)), 24 * time.Hour},
		{`{"delay":null}`, 0},
		{`{"delay":"1h"}`, time.Hour},
		{`{"deliver_at":null}`, 0},
		{`{"delay":"1h"}`, time.Hour},
		{`{"delay":0}`, 0},
		{`{"delay":"1h"}`, time.Hour},
		{`{"deliver_at":"2020-01-01T00:00:00Z"}`, 0},
	} {
		var got rest.MessageDetail
		srv.Patch(path, tc.patch).Want(http.StatusOK).Decode(&got)
		if tc.due == 0 {
			if got.State != engine.StateReady || !got.Due.IsZero() {
				t.Errorf("patch %s = %s, due %v; want ready", tc.patch, got.State, time.Time(got.Due))
			}
			continue
		}
		if off := time.Until(time.Time(got.Due)) - tc.due; got.State != engine.StateDelayed || off > time.Second || off < -time.Minute {
			t.Errorf("patch %s = %s, due in %v; want delayed by %v", tc.patch, got.State, time.Until(time.Time(got.Due)), tc.due)
		}
	}
	one(t, srv, "")
}

func TestReadyNowWakesAReceive(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	path := sendOne(t, srv, `{"body":"x","delay":"1h"}`)
	got := make(chan []rest.Message, 1)
	go func() { got <- receive(t, srv, `{"wait":"30s"}`) }()
	eventually(t, "the receive waits", func() bool { return waiting(t, srv) == 1 })
	srv.Patch(path, `{"delay":null}`).Want(http.StatusOK)
	if messages := <-got; len(messages) != 1 {
		t.Errorf("receive = %d messages, want 1", len(messages))
	}
}

func TestLeasedAndDeadMessagesAreNotRescheduled(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	path := sendOne(t, srv, `{"body":"x"}`)
	m := one(t, srv, "")
	srv.Patch(path, `{"delay":"1s"}`).Refused(http.StatusConflict, "conflict", "").Has("leased")
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"dead":true}`, m.Receipt)).Want(http.StatusOK)
	srv.Patch(path, `{"delay":"1s"}`).Refused(http.StatusConflict, "conflict", "").Has("dead")
}

func TestRescheduleRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	path := sendOne(t, srv, `{"body":"x"}`)
	for patch, field := range map[string]string{
		`{"delay":"-1s"}`:                       "delay",
		`{"delay":"soon"}`:                      "delay",
		`{"delay":true}`:                        "delay",
		`{"deliver_at":"tomorrow"}`:             "deliver_at",
		`{"deliver_at":"2999-01-01T00:00:00Z"}`: "deliver_at",
		`[]`:                                    "",
	} {
		srv.Patch(path, patch).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Patch(path, `{"body":"y"}`).Refused(http.StatusBadRequest, "unknown_field", "body")
	if got := look(t, srv, path); got.State != engine.StateReady {
		t.Errorf("state = %s, want ready as before", got.State)
	}
}
