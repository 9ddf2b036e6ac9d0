package handlers_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/rest"
)

// TestRedriveNeedsScopesOnBothSides has tokens that may manage the source or send to the target, or both.
func TestRedriveNeedsScopesOnBothSides(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	everyone := caller("", "queues:*:*")
	for _, name := range []string{"from", "to", "other"} {
		srv.Put("/v1/queues/"+name, "", everyone...).Want(http.StatusCreated)
	}
	srv.Post("/v1/queues/to/messages", `{"body":"x"}`, everyone...).Want(http.StatusOK)
	srv.Post("/v1/queues/to/redrive", `{"to":"from"}`, everyone...).Want(http.StatusAccepted)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !bytes.Contains(srv.Get("/v1/queues/from", everyone...).Body, []byte(`"ready":1`)) {
		if ctx.Err() != nil {
			t.Fatal("the message was not moved")
		}
	}

	const path = "/v1/queues/from/redrive"
	srv.Post(path, "").Refused(http.StatusUnauthorized, "unauthenticated", "")
	for _, body := range []string{`{"to":"to"}`, `{}`, `{"dry_run":true}`, `{"to":"to","dry_run":true}`} {
		srv.Post(path, body, caller("", "queues:send:* queues:receive:* queues:read:*")...).
			Refused(http.StatusForbidden, "forbidden", "").Has("queues:manage:from")
		srv.Post(path, body, caller("", "queues:manage:* queues:send:other")...).
			Refused(http.StatusForbidden, "forbidden", "").Has("queues:send:to")
	}
	srv.Post(path, `{}`, caller("acme", "queues:*:*")...).Refused(http.StatusNotFound, "not_found", "")
	srv.Get("/v1/queues/from", everyone...).Has(`"ready":1`)

	both := caller("", "queues:manage:from queues:send:to")
	var started rest.RedriveAnswer
	srv.Post(path, `{"rate":0.001}`, both...).Want(http.StatusAccepted).Decode(&started)
	if started.Task.Principal != "tester" {
		t.Errorf("the task's principal is %q, want tester", started.Task.Principal)
	}
	task := "/v1/tasks/" + started.Task.ID
	srv.Get(task, caller("", "queues:read:from")...).Want(http.StatusOK)
	srv.Get(task, caller("", "queues:read:to")...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Get(task, caller("acme", "queues:*:*")...).Refused(http.StatusNotFound, "not_found", "")
	srv.Get("/v1/tasks", caller("", "queues:read:other")...).Want(http.StatusOK).Has(`{"tasks":[]}`)
	srv.Get("/v1/tasks", caller("acme", "queues:*:*")...).Want(http.StatusOK).Has(`{"tasks":[]}`)
	srv.Delete(task, caller("", "queues:read:from")...).Refused(http.StatusForbidden, "forbidden", "").Has("queues:manage:from")
	srv.Delete(task, caller("acme", "queues:*:*")...).Refused(http.StatusNotFound, "not_found", "")
	srv.Delete(task, both...).Want(http.StatusOK)
}
