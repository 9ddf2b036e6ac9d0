package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// sendOne sends one message to "q" and returns the path to look at it.
func sendOne(tb testing.TB, srv *handlerstest.Server, message string) string {
	tb.Helper()
	var sent rest.SendAnswer
	srv.Post("/v1/queues/q/messages", message).Want(http.StatusOK).Decode(&sent)
	return "/v1/queues/q/messages/id/" + sent.ID
}

// look shows a message.
func look(tb testing.TB, srv *handlerstest.Server, path string) rest.MessageDetail {
	tb.Helper()
	var found rest.MessageDetail
	srv.Get(path).Want(http.StatusOK).Decode(&found)
	return found
}

// told is a timeline without its times.
func told(timeline []rest.Event) []string {
	var all []string
	for _, e := range timeline {
		all = append(all, fmt.Sprintf("%s %s %s %s %s", e.Event, e.Consumer, e.Outcome, e.Reason, e.Queue))
	}
	return all
}

func TestLookTellsWhatHappened(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"dead_letter":{"queue":"dead"},"retry":{"max_receives":3}}`)
	srv.Put("/v1/queues/dead", "").Want(http.StatusCreated)
	path := sendOne(t, srv, `{"body":"hello","attributes":{"a":"b"}}`)

	m := one(t, srv, `{"consumer":"worker-1"}`)
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"reason":"no stock","delay":"0s"}`, m.Receipt)).Want(http.StatusOK)
	m = one(t, srv, `{"consumer":"worker-2","visibility":"0s"}`)
	m = one(t, srv, `{"consumer":"worker-3"}`)
	found := look(t, srv, path)
	if found.ID != m.ID || *found.Body != "hello" || found.State != engine.StateLeased || found.Receives != 3 {
		t.Errorf("message = %+v", found)
	}
	want := []string{
		"sent    ", "delivered worker-1 nacked no stock ", "delivered worker-2 lease_ended  ", "delivered worker-3 leased  ",
	}
	if diff := cmp.Diff(want, told(found.Timeline)); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	for i, e := range found.Timeline[1:3] {
		if e.At.IsZero() || e.EndedAt.IsZero() {
			t.Errorf("delivery %d has no times: %+v", i, e)
		}
	}

	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"reason":"gave up"}`, m.Receipt)).Want(http.StatusOK)
	srv.Get(path).Refused(http.StatusNotFound, "not_found", "")
	found = look(t, srv, "/v1/queues/dead/messages/id/"+m.ID)
	if diff := cmp.Diff([]string{"sent    ", "moved   gave up q"}, told(found.Timeline)); diff != "" {
		t.Errorf("timeline of the dead letter (-want +got):\n%s", diff)
	}
	if o := found.Origin; o == nil || o.Queue != "q" || o.Reason != "gave up" || o.Receives != 3 {
		t.Errorf("origin = %+v", o)
	}
}

func TestLookShowsSixteenDeliveries(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"retry":{"policy":"none"}}`)
	path := sendOne(t, srv, `{"body":"x"}`)
	const n = 20
	for i := range n {
		m := one(t, srv, fmt.Sprintf(`{"consumer":"worker-%d"}`, i))
		if i < n-1 {
			srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"delay":"0s"}`, m.Receipt)).Want(http.StatusOK)
		}
	}
	found := look(t, srv, path)
	var consumers []string
	for _, e := range found.Timeline[1:] {
		consumers = append(consumers, e.Consumer)
	}
	var want []string
	for i := n - 16; i < n; i++ {
		want = append(want, fmt.Sprintf("worker-%d", i))
	}
	if diff := cmp.Diff(want, consumers); diff != "" {
		t.Errorf("consumers (-want +got):\n%s", diff)
	}
}

func TestHistoryRemembersWhatLeft(t *testing.T) {
	t.Parallel()
	for config, status := range map[string]int{`{}`: http.StatusNotFound, `{"history":true}`: http.StatusOK} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, config)
			path := sendOne(t, srv, `{"body":"secret"}`)
			m := one(t, srv, `{"consumer":"worker-1"}`)
			srv.Post("/v1/queues/q/ack", fmt.Sprintf(`{"receipts":[%q]}`, m.Receipt)).Want(http.StatusOK)
			answer := srv.Get(path).Want(status)
			if status == http.StatusNotFound {
				return
			}
			var found rest.MessageDetail
			answer.Decode(&found)
			want := []string{"delivered worker-1 acked  ", "removed  acked  "}
			if diff := cmp.Diff(want, told(found.Timeline)); diff != "" || found.State != engine.StateRemoved || found.Body != nil {
				t.Errorf("removed message = %+v; timeline (-want +got):\n%s", found, diff)
			}
			srv.Delete(path).Refused(http.StatusNotFound, "not_found", "")
			srv.Patch(path, `{"delay":0}`).Refused(http.StatusNotFound, "not_found", "")
		})
	}
}

func TestWhatIsNoMessageIsNotFound(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Put("/v1/queues/other", "").Want(http.StatusCreated)
	id := sendOne(t, srv, `{"body":"x"}`)[len("/v1/queues/q/messages/id/"):]
	for _, path := range []string{
		"/v1/queues/q/messages/id/x", "/v1/queues/q/messages/id/" + id[1:], "/v1/queues/other/messages/id/" + id,
		"/v1/queues/none/messages/id/" + id, "/v1/queues/q/messages/id/0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21",
	} {
		srv.Get(path).Refused(http.StatusNotFound, "not_found", "")
		srv.Patch(path, `{"delay":"1s"}`).Refused(http.StatusNotFound, "not_found", "")
		srv.Delete(path).Refused(http.StatusNotFound, "not_found", "")
	}
	srv.Get("/v1/queues/q/messages/id/"+id+"?x=1").Refused(http.StatusBadRequest, "unknown_field", "x")
}

// TestAReceiptMayBeCalledID has the two paths below messages next to each other.
func TestAReceiptMayBeCalledID(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	path := sendOne(t, srv, `{"body":"x"}`)
	srv.Delete("/v1/queues/q/messages/id").Refused(http.StatusBadRequest, "receipt_invalid", "")
	srv.Delete(path).Want(http.StatusNoContent)
	srv.Get("/v1/queues/q/messages/id").Refused(http.StatusMethodNotAllowed, "invalid_request", "")

	srv.Post("/v1/queues/q/messages", `{"body":"y"}`).Want(http.StatusOK)
	srv.Delete("/v1/queues/q/messages/" + one(t, srv, "").Receipt).Want(http.StatusNoContent)
	if got := counts(t, srv); got != (engine.Counts{}) {
		t.Errorf("counts = %+v, want none left", got)
	}
}
