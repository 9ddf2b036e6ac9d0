package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// result is what became of an item, in one word.
func results(answer rest.Results) []string {
	var words []string
	for _, r := range answer.Results {
		if r.OK {
			words = append(words, "ok")
		} else {
			words = append(words, string(r.Error.Code))
		}
	}
	return words
}

func TestAckRemovesMessages(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	got := receive(t, srv, `{"max":2}`)
	body := fmt.Sprintf(`{"receipts":[%q,"garbage",%q]}`, got[0].Receipt, got[1].Receipt)

	for range 2 { // repeating is harmless
		var answer rest.Results
		srv.Post("/v1/queues/q/ack", body).Want(http.StatusOK).Decode(&answer)
		if diff := cmp.Diff([]string{"ok", "receipt_invalid", "ok"}, results(answer)); diff != "" {
			t.Errorf("ack (-want +got):\n%s", diff)
		}
	}
	if got := counts(t, srv); got != (engine.Counts{}) {
		t.Errorf("counts after all acks = %+v, want none", got)
	}
}

func TestRemoveAcksOne(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"body":"a"}`).Want(http.StatusOK)
	m := one(t, srv, `{"visibility":0}`)
	again := one(t, srv, "")
	srv.Delete("/v1/queues/q/messages/"+m.Receipt).Refused(http.StatusConflict, "lease_lost", "")
	srv.Delete("/v1/queues/q/messages/garbage").Refused(http.StatusBadRequest, "receipt_invalid", "")
	srv.Delete("/v1/queues/q/messages/" + again.Receipt).Want(http.StatusNoContent)
	srv.Delete("/v1/queues/q/messages/" + again.Receipt).Want(http.StatusNoContent)
	srv.Delete("/v1/queues/none/messages/"+m.Receipt).Refused(http.StatusNotFound, "not_found", "")
}

func TestNackReturnsRejectsAndDelays(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`).Want(http.StatusOK)
	got := receive(t, srv, `{"max":3}`)
	var answer rest.Results
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(
		`{"items":[{"receipt":%q,"delay":"0s"},{"receipt":%q,"delay":"1h","reason":"busy"},{"receipt":%q,"dead":true},{"receipt":"garbage"}]}`,
		got[0].Receipt, got[1].Receipt, got[2].Receipt)).Want(http.StatusOK).Decode(&answer)

	if diff := cmp.Diff([]string{"ok", "ok", "ok", "receipt_invalid"}, results(answer)); diff != "" {
		t.Errorf("nack (-want +got):\n%s", diff)
	}
	if got := counts(t, srv); got.Ready != 1 || got.Delayed != 1 || got.Dead != 1 {
		t.Errorf("counts = %+v, want one each of ready, delayed and dead", got)
	}

	again := one(t, srv, "")
	if again.Receives != 2 {
		t.Errorf("receives = %d after a nack, want 2", again.Receives)
	}
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"delay":0,"reason":"again"}`, again.Receipt)).Want(http.StatusOK).Has(`{"ok":true}`)
	if got := counts(t, srv).Ready; got != 1 {
		t.Errorf("%d messages are ready after a nack by receipts, want 1", got)
	}
}

func TestDeadLettersSayWhereTheyCameFrom(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"dead_letter":{"queue":"dead"},"retry":{"max_receives":1}}`)
	srv.Put("/v1/queues/dead", "").Want(http.StatusCreated)
	var sent rest.SendAnswer
	srv.Post("/v1/queues/q/messages", `{"body":"poison"}`).Want(http.StatusOK).Decode(&sent)
	m := one(t, srv, "")
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"items":[{"receipt":%q,"reason":"no \"stock\""}]}`, m.Receipt)).Want(http.StatusOK)

	var got rest.ReceiveAnswer
	srv.Post("/v1/queues/dead/receive?wait=10s", "").Want(http.StatusOK).Decode(&got)
	if len(got.Messages) != 1 || got.Messages[0].Origin == nil {
		t.Fatalf("dead-letter queue gave %+v, want the message with its origin", got)
	}
	dead := got.Messages[0]
	if dead.ID != sent.ID || dead.Receives != 2 || dead.Origin.Queue != "q" || dead.Origin.Reason != `no "stock"` || dead.Origin.Receives != 1 {
		t.Errorf("dead letter = %+v with origin %+v", dead, *dead.Origin)
	}
}

func TestExtendIsForLeasesThatRun(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	ended := one(t, srv, `{"visibility":0}`)
	running := one(t, srv, "")
	other := one(t, srv, "")

	var answer rest.Results
	srv.Post("/v1/queues/q/extend", fmt.Sprintf(`{"receipts":[%q,%q,"garbage"],"visibility":"1h"}`, running.Receipt, ended.Receipt)).
		Want(http.StatusOK).Decode(&answer)
	if diff := cmp.Diff([]string{"ok", "lease_lost", "receipt_invalid"}, results(answer)); diff != "" {
		t.Errorf("extend (-want +got):\n%s", diff)
	}
	srv.Post("/v1/queues/q/extend", fmt.Sprintf(`{"items":[{"receipt":%q,"visibility":0}]}`, other.Receipt)).Want(http.StatusOK).Has(`{"ok":true}`)
	if got := counts(t, srv); got.Ready != 1 || got.Leased != 1 {
		t.Errorf("counts = %+v, want one ready again and one leased", got)
	}
}

func TestSettlingRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	many := `["x"` + strings.Repeat(`,"x"`, 1000) + `]`
	for _, tc := range []struct{ verb, body, code, field string }{
		{"ack", ``, "invalid_request", "receipts"},
		{"ack", `{"receipts":[]}`, "invalid_request", "receipts"},
		{"ack", `{"receipts":"x"}`, "invalid_request", "receipts"},
		{"ack", `{"receipts":[1]}`, "invalid_request", "receipts[0]"},
		{"ack", `{"receipt":"x"}`, "unknown_field", "receipt"},
		{"ack", `{"receipts":` + many + `}`, "invalid_request", "receipts"},
		{"nack", ``, "invalid_request", "receipts"},
		{"nack", `{"receipts":[]}`, "invalid_request", "receipts"},
		{"nack", `{"items":[]}`, "invalid_request", "items"},
		{"extend", `{"receipts":[]}`, "invalid_request", "receipts"},
		{"extend", `{"items":[]}`, "invalid_request", "items"},
		{"nack", `{"items":[],"receipts":[]}`, "invalid_request", "items"},
		{"nack", `{"items":[{"receipt":"x"}],"delay":"1s"}`, "invalid_request", "items"},
		{"nack", `{"items":[{"receipt":"x","why":"y"}]}`, "unknown_field", "items[0].why"},
		{"extend", ``, "invalid_request", "receipts"},
		{"extend", `{"receipts":["x"]}`, "invalid_request", "visibility"},
		{"extend", `{"items":[{"receipt":"x"}],"visibility":"1s"}`, "invalid_request", "items"},
	} {
		t.Run(tc.verb+" "+tc.body[:min(len(tc.body), 40)], func(t *testing.T) {
			srv.For(t).Post("/v1/queues/q/"+tc.verb, tc.body).Refused(http.StatusBadRequest, engine.Code(tc.code), tc.field)
		})
	}
	for verb, body := range map[string]string{
		"ack":    `{"receipts":["x"]}`,
		"nack":   `{"receipts":["x"]}`,
		"extend": `{"receipts":["x"],"visibility":"1s"}`,
	} {
		srv.Post("/v1/queues/none/"+verb, body).Refused(http.StatusNotFound, "not_found", "")
		srv.Post("/v1/queues/q/"+verb+"?dry_run=1", body).Refused(http.StatusBadRequest, "unknown_field", "dry_run")
	}
}

func TestSettlingIsJudgedItemByItem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ verb, body, field string }{
		{"nack", `{"items":[{"receipt":%q,"delay":"soon"},{"receipt":%q,"delay":"1s"}]}`, "items[0].delay"},
		{"nack", `{"items":[{"receipt":%q,"delay":"-1s"},{"receipt":%q,"delay":"1s"}]}`, "items[0].delay"},
		{"nack", `{"receipts":[%q,%q],"delay":"-1s"}`, "delay"},
		{"extend", `{"items":[{"receipt":%q,"visibility":"long"},{"receipt":%q,"visibility":"1m"}]}`, "items[0].visibility"},
		{"extend", `{"items":[{"receipt":%q},{"receipt":%q,"visibility":"1m"}]}`, "items[0].visibility"},
		{"extend", `{"receipts":[%q,%q],"visibility":"-1s"}`, "visibility"},
	} {
		t.Run(tc.verb+" "+tc.body, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
			got := receive(t, srv, `{"max":2}`)
			var answer rest.Results
			srv.Post("/v1/queues/q/"+tc.verb, fmt.Sprintf(tc.body, got[0].Receipt, got[1].Receipt)).Want(http.StatusOK).Decode(&answer)
			if e := answer.Results[0].Error; e == nil || e.Code != "invalid_request" || e.Field != tc.field {
				t.Errorf("first result = %+v, want invalid_request for %s", e, tc.field)
			}
			if want := !strings.Contains(tc.body, "receipts"); answer.Results[1].OK != want {
				t.Errorf("second result = %+v, want ok to be %v", answer.Results[1], want)
			}
		})
	}
}
