package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestTaskIsCancelled(t *testing.T) {
	t.Parallel()
	srv, _ := withDeadLetters(t)
	var started rest.RedriveAnswer
	srv.Post("/v1/queues/dlq/redrive", `{"to":"q","rate":0.001}`).Want(http.StatusAccepted).Decode(&started)
	path := "/v1/tasks/" + started.Task.ID
	var task rest.Task
	eventually(t, "the first message to be moved", func() bool {
		srv.Get(path).Want(http.StatusOK).Decode(&task)
		return task.Moved == 1
	})
	if task.State != engine.TaskRunning || task.Total != 3 || task.RateLimit != 0.001 || task.ETA == nil || !task.FinishedAt.IsZero() {
		t.Errorf("running task = %+v, want 1 of 3 and an ETA", task)
	}
	for range 2 {
		srv.Delete(path).Want(http.StatusOK).Decode(&task)
		if task.State != engine.TaskCancelled || task.Moved != 1 || task.CancelledBy != "anonymous" || task.FinishedAt.IsZero() {
			t.Errorf("cancelled task = %+v, want 1 moved", task)
		}
	}
	if n := strings.Count(srv.Log.String(), "state=cancelled moved=1 skipped=0 cancelled_by=anonymous"); n != 1 {
		t.Errorf("the log tells %d times of a redrive that was cancelled, want once:\n%s", n, srv.Log)
	}
	srv.Get("/v1/queues/dlq").Want(http.StatusOK).Has(`"ready":2`)
}

func TestTasksAreListed(t *testing.T) {
	t.Parallel()
	srv, _ := withDeadLetters(t)
	var want []string
	for range 5 {
		want = append([]string{redrive(t, srv, "q", `{"to":"dlq"}`).ID}, want...)
	}
	var got []string
	for cursor := ""; ; {
		var page rest.TaskList
		srv.Get(fmt.Sprintf("/v1/tasks?limit=2&cursor=%s", cursor)).Want(http.StatusOK).Decode(&page)
		for _, task := range page.Tasks {
			got = append(got, task.ID)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("tasks by pages of 2 = %v, want the newest first: %v", got, want)
	}
	srv.Get("/v1/tasks?cursor=x").Refused(http.StatusBadRequest, "invalid_request", "cursor")
	srv.Get("/v1/tasks?state=done").Refused(http.StatusBadRequest, "unknown_field", "state")
	srv.Get("/v1/tasks/x").Refused(http.StatusNotFound, "not_found", "")
	srv.Delete("/v1/tasks/x").Refused(http.StatusNotFound, "not_found", "")
	srv.Get("/v1/tasks/%2e%2e%2fother").Refused(http.StatusNotFound, "not_found", "")
}
