package rest

import (
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// Create makes a queue, or gives it a new configuration. What the request leaves out returns to its default.
//
// @Summary Create or replace a queue
// @Description Makes a queue, or gives it a new configuration. Fields that are left out return to their defaults. To name a dead-letter queue that it does not have yet, a token needs queues:send on that one. It need not exist yet; as long as it does not, warnings in the answer says so.
// @ID putQueue
// @Tags queues
// @Accept json
// @Produce json
// @Param q path string true "Queue name: letters, digits, - and _, and .fifo at the end of a FIFO queue's; at most 80 in all"
// @Param If-Match header string false "Only if the queue has this ETag; * for one that exists"
// @Param If-None-Match header string false "* creates the queue only if there is none of this name yet (else 412)"
// @Param config body QueueConfig false "The configuration"
// @Success 200 {object} Queue "Changed, or the same"
// @Success 201 {object} Queue "Created"
// @Header 200,201 {string} ETag "Names this state of the configuration"
// @Header 201 {string} Location "The queue's path"
// @Failure 400,401,403,409,412,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q} [put]
func (a *API) Create(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	only, err := a.queueCondition(r)
	if err != nil {
		return err
	}
	patch, err := a.readPatch(w, r)
	if err != nil {
		return err
	}
	config, err := patch.alone()
	if err != nil {
		return err
	}
	q, created, err := a.engine.PutQueue(r.Context(), ref, config, only)
	if err != nil {
		return err
	}
	warnings := a.warningsOf(r, q)
	if !created {
		return replyQueue(w, http.StatusOK, q, warnings...)
	}
	w.Header().Set("Location", "/v1/queues/"+ref.Name)
	return replyQueue(w, http.StatusCreated, q, warnings...)
}

// warningsOf are about settings of a queue that do not work yet. That one cannot be looked at is no reason to warn.
func (a *API) warningsOf(r *http.Request, q engine.Queue) []Warning {
	target := q.Config.DeadLetter.Queue
	if target == "" {
		return nil
	}
	_, err := a.engine.Config(r.Context(), engine.Ref{Tenant: q.Ref.Tenant, Name: target})
	if err == nil || engine.ErrorOf(err).Code != engine.CodeNotFound {
		return nil
	}
	return []Warning{{
		Field:  "dead_letter.queue",
		Detail: "There is no queue " + target + " yet; until there is, dead messages stay in this queue.",
	}}
}

// readPatch reads a configuration, whole or in part.
func (a *API) readPatch(w http.ResponseWriter, r *http.Request) (configPatch, error) {
	if _, err := query(r); err != nil {
		return nil, err
	}
	body, err := a.exchange.Read(w, r, exchange.Usual)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	if err := body.DecodingJSON(); err != nil {
		return nil, err
	}
	return decodePatch(body.Bytes)
}

func replyQueue(w http.ResponseWriter, status int, q engine.Queue, warnings ...Warning) error {
	w.Header().Set("ETag", quoted(q.ETag))
	shown := queueOf(q)
	shown.Warnings = warnings
	return reply(w, status, shown)
}

func queueOf(q engine.Queue) Queue {
	out := Queue{
		Name:   q.Ref.Name,
		Config: configOf(q.Config),
		Counts: Counts(q.Counts),
		Paused: pausedOf(q.Paused),

		QueueNumbers: numbersOf(q.Numbers),
	}
	if q.Uncounted != nil {
		out.Uncounted = q.Uncounted.Detail
	}
	if q.OldestAge >= 0 {
		out.OldestAge = new(Duration(q.OldestAge.Truncate(time.Millisecond)))
	}
	return out
}
