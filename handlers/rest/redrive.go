package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// RedriveRequest says which messages go where; an empty one sends each back to the queue it last came from.
type RedriveRequest struct {
	// The queue to move them to. If it is left out each goes back to the queue it last came from; those that came from none, or from one that is no more, stay and are skipped.
	To string `json:"to,omitzero" example:"orders"`
	// The messages with these ids; up to 1000.
	IDs []string `json:"ids,omitzero"`
	// The messages to which all of this applies.
	Filter *MessageFilter `json:"filter,omitzero"`
	// The most messages to move a second; no limit if left out.
	Rate *float64 `json:"rate,omitzero" example:"100"`
	// Only counts, and moves nothing.
	DryRun bool `json:"dry_run,omitzero"`
	// Gives one message another body while it is moved.
	Edit *RedriveEdit `json:"edit,omitzero"`
}

// MessageFilter chooses messages: those to which all of it applies.
type MessageFilter struct {
	// ready, delayed or dead; several with commas.
	State *string `json:"state,omitzero" example:"dead"`
	// The messages of this group; the empty name stands for those without one.
	Group *string `json:"group,omitzero" example:"customer-7"`
	// Part of the body, byte by byte.
	Contains string `json:"contains,omitzero" example:"timeout"`
	// Exact values of attributes.
	Attributes map[string]string `json:"attributes,omitzero"`
	// Messages that first became available in this queue this long ago, before the redrive was asked for.
	OlderThan *Duration `json:"older_than,omitzero" swaggertype:"string" extensions:"x-duration" example:"1h"`
}

// RedriveEdit is a message and its new body: body or body_base64 is required. Attributes and content type stay.
type RedriveEdit struct {
	ID string `json:"id" validate:"required" example:"0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21"`
	// The body as text.
	Body *string `json:"body,omitzero" example:"hello"`
	// The body as bytes.
	BodyBase64 []byte `json:"body_base64,omitzero" swaggertype:"string" format:"base64"`
}

// RedrivePlan is what a redrive would do now.
type RedrivePlan struct {
	// Messages that would be moved.
	Total int64 `json:"total" validate:"required" example:"12"`
	// The same by the queue they would go to.
	ByTarget map[string]int64 `json:"by_target" validate:"required"`
	// Messages that would stay, since they came from no queue that exists.
	Skipped int64 `json:"skipped,omitzero"`
}

// RedriveAnswer shows the task that was started.
type RedriveAnswer struct {
	Task Task `json:"task" validate:"required"`
	// The idempotency key was used before; this is the task of then.
	Duplicate bool `json:"duplicate,omitzero"`
}

// Redrive moves messages of one queue to another, or back to where they came from.
//
// @Summary Redrive messages
// @Description Starts a task that moves the ready, delayed and dead messages there are now, or those of them that the request chooses; leased ones are left to their holders, later ones are not moved. A message keeps its id, its group, its attributes and its origin, and its deliveries count anew. The task survives a restart, and moves each message once whatever happens. Needs queues:manage for this queue and queues:send for each queue that messages would go to, which is held against the messages there are at the start; a task moves nothing to any other queue. With dry_run it answers with counts (200) and changes nothing. An edited message is moved when the answer comes.
// @ID redrive
// @Tags tasks
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param Idempotency-Key header string false "1 to 128 characters; repeating a request with the same key within 10 minutes returns the first task"
// @Param request body RedriveRequest false "Which messages, and where to; all to where they came from if left out"
// @Success 200 {object} RedrivePlan "With dry_run: what would be done"
// @Success 202 {object} RedriveAnswer "The task"
// @Header 202 {string} Location "The task's path"
// @Failure 400,401,403,404,409,413,415,422,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/redrive [post]
func (a *API) Redrive(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	key, err := a.idempotencyKey(r)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	body, err := a.exchange.Read(w, r, a.sendLimit(ref))
	if err != nil {
		return err
	}
	defer body.Release()
	if err := body.DecodingJSON(); err != nil {
		return err
	}
	var req RedriveRequest
	if err := decode(body.Bytes, &req); err != nil {
		return err
	}
	redrive, err := req.engine()
	if err != nil {
		return err
	}
	p := a.principal(r)
	redrive.Principal, redrive.Key = p.Subject, key
	redrive.Allow = func(queue string) error { return p.Require("queues", "send", queue) }
	if req.DryRun {
		plan, err := a.engine.PlanRedrive(r.Context(), ref, redrive)
		if err != nil {
			return inFilter(err)
		}
		if plan.ByTarget == nil {
			plan.ByTarget = map[string]int64{}
		}
		return reply(w, http.StatusOK, RedrivePlan{Total: plan.Total, ByTarget: plan.ByTarget, Skipped: plan.Skipped})
	}
	t, err := a.engine.Redrive(r.Context(), ref, redrive)
	if err != nil {
		return inFilter(err)
	}
	w.Header().Set("Location", "/v1/tasks/"+t.ID)
	return reply(w, http.StatusAccepted, RedriveAnswer{Task: taskOf(t), Duplicate: t.Duplicate})
}

func (req *RedriveRequest) engine() (engine.RedriveRequest, error) {
	out := engine.RedriveRequest{To: req.To}
	if f := req.Filter; f != nil {
		out.Filter = engine.Filter{
			States: chosenStates(f.State), Group: f.Group, Contains: f.Contains, Attributes: f.Attributes,
			OlderThan: (*time.Duration)(f.OlderThan),
		}
	}
	if req.Rate != nil {
		if out.Rate = *req.Rate; out.Rate == 0 {
			return out, invalid("rate", "A rate of 0 would never end; leave it out for no limit.")
		}
	}
	var err error
	if out.Filter.IDs, err = messageIDs(req.IDs); err != nil {
		return out, err
	}
	if req.Edit != nil {
		out.Edit, err = req.Edit.engine()
	}
	return out, err
}

// messageIDs reads ids; nil for no list.
func messageIDs(given []string) ([]engine.MessageID, error) {
	if given == nil {
		return nil, nil
	}
	if err := notNone("ids", len(given)); err != nil {
		return nil, err
	}
	ids := make([]engine.MessageID, len(given))
	for i, text := range given {
		id, ok := engine.ParseMessageID(text)
		if !ok {
			return nil, invalid(fmt.Sprintf("ids[%d]", i), "This is not the id of a message.")
		}
		ids[i] = id
	}
	return ids, nil
}

func (e *RedriveEdit) engine() (*engine.Edit, error) {
	id, ok := engine.ParseMessageID(e.ID)
	if !ok {
		return nil, invalid("edit.id", "Give the id of the message.")
	}
	switch {
	case e.Body != nil && e.BodyBase64 != nil:
		return nil, invalid("edit.body", "Give the new body either as body or as body_base64, not both.")
	case e.Body != nil:
		return &engine.Edit{ID: id, Body: []byte(*e.Body)}, nil
	case e.BodyBase64 != nil:
		return &engine.Edit{ID: id, Body: e.BodyBase64}, nil
	}
	return nil, invalid("edit.body", "The new body is missing: give it as body (a string) or body_base64 (bytes).")
}

// inFilter gives the fields of a filter the names they have in this request.
func inFilter(err error) error {
	e, ok := err.(*engine.Error) //nolint:errorlint // what is wrapped is not what the client sees
	if !ok {
		return err
	}
	switch e.Field {
	case "state", "contains", "older_than":
		return fieldOf(e, e.Field, "filter."+e.Field)
	}
	return e
}
