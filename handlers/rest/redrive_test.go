package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// withDeadLetters starts a server with two dead letters of "q" in "dlq", and one message that was sent there. Their ids
// are in that order.
func withDeadLetters(tb testing.TB) (*handlerstest.Server, []string) {
	tb.Helper()
	srv := handlerstest.Start(tb)
	srv.Put("/v1/queues/dlq", "").Want(http.StatusCreated)
	srv.Put("/v1/queues/q", `{"dead_letter":{"queue":"dlq"}}`).Want(http.StatusCreated)
	var sent rest.SendManyAnswer
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"one","attributes":{"color":"red"}},{"body":"two"}]}`).
		Want(http.StatusOK).Decode(&sent)
	for _, m := range receive(tb, srv, `{"max":2}`) {
		srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"dead":true,"reason":"no stock"}`, m.Receipt)).Want(http.StatusOK)
	}
	var direct rest.SendAnswer
	srv.Post("/v1/queues/dlq/messages", `{"body":"three"}`).Want(http.StatusOK).Decode(&direct)
	return srv, []string{sent.Results[0].ID, sent.Results[1].ID, direct.ID}
}

// redrive starts one and waits for its end.
func redrive(tb testing.TB, srv *handlerstest.Server, queue, body string) rest.Task {
	tb.Helper()
	answer := srv.Post("/v1/queues/"+queue+"/redrive", body).Want(http.StatusAccepted)
	var started rest.RedriveAnswer
	answer.Decode(&started)
	if got, want := answer.Header.Get("Location"), "/v1/tasks/"+started.Task.ID; got != want {
		tb.Errorf("redrive %s: Location %q, want %q", body, got, want)
	}
	t := started.Task
	eventually(tb, "the end of a redrive", func() bool {
		srv.Get("/v1/tasks/" + t.ID).Want(http.StatusOK).Decode(&t)
		return t.State != engine.TaskRunning
	})
	return t
}

func TestRedriveToOrigin(t *testing.T) {
	t.Parallel()
	srv, ids := withDeadLetters(t)
	var plan rest.RedrivePlan
	srv.Post("/v1/queues/dlq/redrive", `{"dry_run":true}`).Want(http.StatusOK).Decode(&plan)
	if diff := cmp.Diff(rest.RedrivePlan{Total: 2, ByTarget: map[string]int64{"q": 2}, Skipped: 1}, plan); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	done := redrive(t, srv, "dlq", "")
	if done.State != engine.TaskDone || done.Moved != 2 || done.Total != 2 || done.Skipped != 1 || done.ETA != nil || done.Principal != "anonymous" {
		t.Errorf("task = %+v, want it done with 2 moved of 2, 1 skipped", done)
	}
	for i, m := range receive(t, srv, `{"max":10}`) {
		if m.ID != ids[i] || m.Receives != 2 || m.Origin == nil || m.Origin.Queue != "dlq" {
			t.Errorf("message %d = %+v, want %s for the second time, from dlq", i, m, ids[i])
		}
	}
	srv.Get("/v1/queues/dlq").Want(http.StatusOK).Has(`"ready":1`)
	for _, line := range []string{
		`msg="redrive started" task=` + done.ID + ` principal=anonymous tenant=default queue=dlq to="" total=2`,
		`msg="redrive moved messages" task=` + done.ID + ` principal=anonymous tenant=default queue=dlq to=q messages=2`,
		`msg="redrive ended" task=` + done.ID + ` principal=anonymous tenant=default queue=dlq to="" total=2 state=done moved=2 skipped=1`,
	} {
		if !strings.Contains(srv.Log.String(), line) {
			t.Errorf("the log has no %q:\n%s", line, srv.Log)
		}
	}
}

func TestRedriveByFilter(t *testing.T) {
	t.Parallel()
	srv, ids := withDeadLetters(t)
	for _, tc := range []struct {
		body string
		want int64
	}{
		{`{"dry_run":true,"to":"q"}`, 3},
		{`{"dry_run":true,"to":"q","filter":{}}`, 3},
		{`{"dry_run":true,"to":"q","filter":{"attributes":{"color":"red"}}}`, 1},
		{`{"dry_run":true,"to":"q","filter":{"attributes":{"color":"re"}}}`, 0},
		{`{"dry_run":true,"to":"q","filter":{"contains":"t"}}`, 2},
		{`{"dry_run":true,"to":"q","filter":{"contains":"o","attributes":{"color":"red"}}}`, 1},
		{`{"dry_run":true,"to":"q","filter":{"group":"g"}}`, 0},
		{`{"dry_run":true,"to":"q","filter":{"group":""}}`, 3},
		{`{"dry_run":true,"to":"q","filter":{"state":"ready,dead"}}`, 3},
		{`{"dry_run":true,"to":"q","filter":{"state":"dead"}}`, 0},
		{`{"dry_run":true,"to":"q","filter":{"older_than":"1h"}}`, 0},
		{`{"dry_run":true,"to":"q","ids":["` + ids[1] + `","` + ids[2] + `"]}`, 2},
		{`{"dry_run":true,"to":"q","ids":["` + ids[1] + `","` + ids[2] + `"],"filter":{"contains":"three"}}`, 1},
	} {
		var plan rest.RedrivePlan
		srv.Post("/v1/queues/dlq/redrive", tc.body).Want(http.StatusOK).Decode(&plan)
		if plan.Total != tc.want || plan.ByTarget["q"] != tc.want {
			t.Errorf("%s: %+v, want %d", tc.body, plan, tc.want)
		}
	}
	if done := redrive(t, srv, "dlq", `{"to":"q","ids":["`+ids[2]+`"]}`); done.Moved != 1 || done.To != "q" {
		t.Errorf("redrive of one id = %+v, want 1 moved to q", done)
	}
	if m := one(t, srv, ""); m.ID != ids[2] {
		t.Errorf("message %s was moved, want %s", m.ID, ids[2])
	}
	if log := srv.Log.String(); !strings.Contains(log, "ids=["+ids[2]+"]") {
		t.Errorf("the log does not name the message that was moved by its id:\n%s", log)
	}
}

func TestRedriveEdits(t *testing.T) {
	t.Parallel()
	srv, ids := withDeadLetters(t)
	var answer rest.RedriveAnswer
	srv.Post("/v1/queues/dlq/redrive", `{"edit":{"id":"`+ids[0]+`","body":"mended"}}`).Want(http.StatusAccepted).Decode(&answer)
	if answer.Task.State != engine.TaskDone || answer.Task.Moved != 1 || answer.Task.Total != 1 {
		t.Errorf("task = %+v, want it done with 1 moved", answer.Task)
	}
	m := one(t, srv, "")
	if m.ID != ids[0] || *m.Body != "mended" || len(m.Attributes) != 1 {
		t.Errorf("message = %+v, want %s with the new body and its attribute", m, ids[0])
	}
	srv.Post("/v1/queues/dlq/redrive", `{"to":"q","edit":{"id":"`+ids[2]+`","body_base64":"/w=="}}`).Want(http.StatusAccepted)
	if m := one(t, srv, ""); m.ID != ids[2] || string(m.BodyBase64) != "\xff" {
		t.Errorf("message = %+v, want %s with bytes", m, ids[2])
	}
}

func TestRedriveRefuses(t *testing.T) {
	t.Parallel()
	srv, ids := withDeadLetters(t)
	srv.Put("/v1/queues/small", `{"max_message_bytes":10}`).Want(http.StatusCreated)
	for name, tc := range map[string]struct {
		body   string
		status int
		code   engine.Code
		field  string
	}{
		"itself":             {`{"to":"dlq"}`, 400, "invalid_request", "to"},
		"an absent queue":    {`{"to":"nowhere"}`, 404, "not_found", "to"},
		"an unknown field":   {`{"target":"q"}`, 400, "unknown_field", "target"},
		"no rate":            {`{"rate":0}`, 400, "invalid_request", "rate"},
		"a negative rate":    {`{"rate":-5}`, 400, "invalid_request", "rate"},
		"no ids":             {`{"ids":[]}`, 400, "invalid_request", "ids"},
		"what is no id":      {`{"ids":["` + ids[0] + `","x"]}`, 400, "invalid_request", "ids[1]"},
		"leased messages":    {`{"filter":{"state":"leased"}}`, 400, "invalid_request", "filter.state"},
		"an unknown state":   {`{"filter":{"state":"gone"}}`, 400, "invalid_request", "filter.state"},
		"a negative age":     {`{"filter":{"older_than":"-1s"}}`, 400, "invalid_request", "filter.older_than"},
		"an edit of nothing": {`{"edit":{"id":"` + ids[0] + `"}}`, 400, "invalid_request", "edit.body"},
		"an edit of two":     {`{"edit":{"id":"` + ids[0] + `","body":"x"},"ids":["` + ids[0] + `","` + ids[1] + `"]}`, 400, "invalid_request", "ids"},
		"an edit and a text": {`{"edit":{"id":"` + ids[0] + `","body":"x"},"filter":{"contains":"x"}}`, 400, "invalid_request", "filter"},
		"an absent message":  {`{"edit":{"id":"00000000-0000-0000-0000-000000000000","body":"x"}}`, 404, "not_found", "edit.id"},
		"a body too large":   {`{"to":"small","edit":{"id":"` + ids[0] + `","body":"0123456789"}}`, 413, "too_large", "edit.body"},
		"no origin":          {`{"edit":{"id":"` + ids[2] + `","body":"x"}}`, 400, "invalid_request", "to"},
	} {
		t.Run(name, func(t *testing.T) {
			srv.For(t).Post("/v1/queues/dlq/redrive", tc.body).Refused(tc.status, tc.code, tc.field)
		})
	}
	srv.Post("/v1/queues/nowhere/redrive", "").Refused(http.StatusNotFound, "not_found", "")
	srv.Get("/v1/queues/dlq").Want(http.StatusOK).Has(`"ready":3`)
	srv.Get("/v1/tasks").Want(http.StatusOK).Has(`{"tasks":[]}`)
}

func TestRedriveIsRepeatable(t *testing.T) {
	t.Parallel()
	srv, _ := withDeadLetters(t)
	var first, second rest.RedriveAnswer
	srv.Post("/v1/queues/dlq/redrive", `{"to":"q"}`, "Idempotency-Key", "k").Want(http.StatusAccepted).Decode(&first)
	srv.Post("/v1/queues/dlq/redrive", `{"to":"q"}`, "Idempotency-Key", "k").Want(http.StatusAccepted).Decode(&second)
	if first.Duplicate || !second.Duplicate || first.Task.ID != second.Task.ID {
		t.Errorf("two requests with one key: tasks %s (duplicate: %v) and %s (%v); want one task",
			first.Task.ID, first.Duplicate, second.Task.ID, second.Duplicate)
	}
	srv.Post("/v1/queues/dlq/redrive", `{"to":"q","rate":1}`, "Idempotency-Key", "k").
		Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
}
