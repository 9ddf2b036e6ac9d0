package rest

import (
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
)

// Task is work that goes on after the request that asked for it.
type Task struct {
	ID    string           `json:"id" validate:"required" example:"5f0c8d1e93a46c0e1c8f7b210e4f7a52"`
	State engine.TaskState `json:"state" validate:"required" swaggertype:"string" enums:"running,done,cancelled,failed" example:"running"`
	// Why it failed.
	Error string `json:"error,omitzero"`
	// The queue that messages are moved out of.
	Queue string `json:"queue" validate:"required" example:"orders-dead"`
	// Where they go; absent when each goes back to where it came from.
	To string `json:"to,omitzero" example:"orders"`
	// Messages moved so far. After a crash of the server those count too that left the queue otherwise meanwhile.
	Moved int64 `json:"moved" validate:"required" example:"340"`
	// Messages there were to move when it was started. Some may be consumed, or be leased, before it comes to them.
	Total int64 `json:"total" validate:"required" example:"1200"`
	// Messages that stay, since they came from no queue that exists.
	Skipped int64 `json:"skipped" validate:"required" example:"0"`
	// Messages a second, so far.
	Rate float64 `json:"rate" validate:"required" example:"99.8"`
	// The most messages a second that were asked for; absent for no limit.
	RateLimit float64 `json:"rate_limit,omitzero" example:"100"`
	// How long it will probably still take; null when that is unknown, or it has ended.
	ETA *Duration `json:"eta" validate:"required" swaggertype:"string" extensions:"x-nullable" example:"9s"`
	// Who asked for it.
	Principal string `json:"principal" validate:"required" example:"ops-1"`
	// Who cancelled it.
	CancelledBy string `json:"cancelled_by,omitzero" example:"ops-1"`
	CreatedAt   Time   `json:"created_at" validate:"required" swaggertype:"string" format:"date-time"`
	// Absent while it runs.
	FinishedAt Time `json:"finished_at,omitzero" swaggertype:"string" format:"date-time"`
}

// TaskList is one page of tasks.
type TaskList struct {
	// The newest first.
	Tasks []Task `json:"tasks" validate:"required"`
	// Where the next page starts; absent on the last one.
	Cursor string `json:"cursor,omitzero"`
}

// Tasks shows the tasks on queues that the caller may read, the newest first.
//
// @Summary List tasks
// @Description The tasks on queues that the caller may read, the newest first. Finished ones are kept for a week at least.
// @ID listTasks
// @Tags tasks
// @Produce json
// @Param limit query int false "Entries a page, from 1 to 1000" default(100)
// @Param cursor query string false "The cursor of the page before"
// @Success 200 {object} TaskList
// @Failure 400,401,503,default {object} problem.Document
// @Security bearer
// @Router /v1/tasks [get]
func (a *API) Tasks(w http.ResponseWriter, r *http.Request) error {
	params, err := query(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, after, err := params.page(r)
	if err != nil {
		return err
	}
	p := a.principal(r)
	visible := func(queue string) bool { return p.Allows("queues", "read", queue) }
	found, err := a.engine.Tasks(r.Context(), p.Tenant, after, limit+1, visible)
	if err != nil {
		return err
	}
	page := TaskList{}
	if len(found) > limit { // there is another page
		found = found[:limit]
		page.Cursor = params.encodeCursor(r, found[limit-1].ID)
	}
	page.Tasks = make([]Task, len(found))
	for i, t := range found {
		page.Tasks[i] = taskOf(t)
	}
	return reply(w, http.StatusOK, page)
}

// Task shows one task.
//
// @Summary Show a task
// @Description How far it has come. Needs queues:read for its queue.
// @ID getTask
// @Tags tasks
// @Produce json
// @Param id path string true "The task's id"
// @Success 200 {object} Task
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/tasks/{id} [get]
func (a *API) Task(w http.ResponseWriter, r *http.Request) error {
	t, _, err := a.task(r, "read")
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, taskOf(t))
}

// CancelTask ends a task.
//
// @Summary Cancel a task
// @Description Nothing is moved any more when the answer comes; what was moved stays where it is. Cancelling a task that has ended changes nothing. Needs queues:manage for its queue.
// @ID cancelTask
// @Tags tasks
// @Produce json
// @Param id path string true "The task's id"
// @Success 200 {object} Task "As it ended"
// @Failure 400,401,403,404,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/tasks/{id} [delete]
func (a *API) CancelTask(w http.ResponseWriter, r *http.Request) error {
	t, p, err := a.task(r, "manage")
	if err != nil {
		return err
	}
	if t, err = a.engine.CancelTask(r.Context(), p.Tenant, t.ID, p.Subject); err != nil {
		return err
	}
	return reply(w, http.StatusOK, taskOf(t))
}

// task is the task in the path of a request whose sender may perform the action on its queue.
func (a *API) task(r *http.Request, action string) (engine.Task, auth.Principal, error) {
	p := a.principal(r)
	if _, err := query(r); err != nil {
		return engine.Task{}, p, err
	}
	t, err := a.engine.Task(r.Context(), p.Tenant, pathValue(r, "id"))
	if err != nil {
		return engine.Task{}, p, err
	}
	return t, p, p.Require("queues", action, t.Queue.Name)
}

func taskOf(t engine.Task) Task {
	out := Task{
		ID: t.ID, State: t.State, Error: t.Error, Queue: t.Queue.Name, To: t.To,
		Moved: t.Moved, Total: t.Total, Skipped: t.Skipped,
		Rate: thousandths(t.Rate), RateLimit: t.RateLimit,
		Principal: t.Principal, CancelledBy: t.CancelledBy,
		CreatedAt: Time(t.CreatedAt), FinishedAt: Time(t.FinishedAt),
	}
	if t.ETA >= 0 {
		out.ETA = new(Duration(t.ETA.Round(100 * time.Millisecond)))
	}
	return out
}
