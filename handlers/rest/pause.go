package rest

import (
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// PauseRequest says what to pause: both sides if it names neither.
type PauseRequest struct {
	// Refuses sends (429 paused). Dead letters and redrives still go in.
	Produce *bool `json:"produce,omitzero" example:"true"`
	// Receives find nothing. Acks, nacks and extends go on.
	Consume *bool `json:"consume,omitzero" example:"true"`
	// When that goes on by itself; left out, with a resume only.
	Until *time.Time `json:"until,omitzero" format:"date-time" example:"2026-12-01T08:00:00Z"`
}

// ResumeRequest says what to resume: both sides if it names neither.
type ResumeRequest struct {
	Produce *bool `json:"produce,omitzero" example:"true"`
	Consume *bool `json:"consume,omitzero" example:"true"`
}

// Paused is what a queue does not do for now.
type Paused struct {
	// Sends are refused.
	Produce bool `json:"produce" validate:"required"`
	// Receives find nothing.
	Consume bool `json:"consume" validate:"required"`
	// When it goes on by itself; absent if only a resume ends it, or if the two sides end apart.
	Until Time `json:"until,omitzero" swaggertype:"string" format:"date-time" example:"2026-12-01T08:00:00Z"`
	// When each side goes on by itself, if they do so apart.
	ProduceUntil Time `json:"produce_until,omitzero" swaggertype:"string" format:"date-time"`
	ConsumeUntil Time `json:"consume_until,omitzero" swaggertype:"string" format:"date-time"`
}

// Pause stops sends, receives, or both.
//
// @Summary Pause a queue
// @Description Stops sends (produce), receives (consume), or both when neither is named, until the given time or a resume; the side that is not named stays as it is. A paused send is refused with 429 and the code paused; Retry-After is the time that is left, or 30 seconds. A paused receive waits as long as it was asked to and gets nothing. Acks, nacks and extends go on, what was sent before becomes ready in its time, and dead letters and redrives still go in; a recurring schedule tries again until its next fire time. The pause survives a restart and counts as a change of the queue: its ETag is another one after it.
// @ID pauseQueue
// @Tags queues
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param request body PauseRequest false "What to pause"
// @Success 200 {object} Queue
// @Header 200 {string} ETag "Names this state of the configuration"
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/pause [post]
func (a *API) Pause(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	var req PauseRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	var until time.Time
	if req.Until != nil {
		until = *req.Until
	}
	produce, consume := sides(req.Produce, req.Consume)
	q, err := a.engine.PauseQueue(r.Context(), ref, produce, consume, until)
	if err != nil {
		return err
	}
	return replyQueue(w, http.StatusOK, q)
}

// Resume ends a pause.
//
// @Summary Resume a queue
// @Description Lets sends (produce), receives (consume), or both when neither is named, go on; receives that wait get messages at once. Resuming what is not paused changes nothing.
// @ID resumeQueue
// @Tags queues
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param request body ResumeRequest false "What to resume"
// @Success 200 {object} Queue
// @Header 200 {string} ETag "Names this state of the configuration"
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/resume [post]
func (a *API) Resume(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	var req ResumeRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	produce, consume := sides(req.Produce, req.Consume)
	q, err := a.engine.ResumeQueue(r.Context(), ref, produce, consume)
	if err != nil {
		return err
	}
	return replyQueue(w, http.StatusOK, q)
}

// sides are those a request is about.
func sides(produce, consume *bool) (bool, bool) {
	if produce == nil && consume == nil {
		return true, true
	}
	return produce != nil && *produce, consume != nil && *consume
}

func pausedOf(p engine.Pause) *Paused {
	if p == (engine.Pause{}) {
		return nil
	}
	out := &Paused{Produce: p.Produce, Consume: p.Consume}
	switch {
	case !p.Produce, p.Consume && p.ProduceUntil.Equal(p.ConsumeUntil):
		out.Until = Time(p.ConsumeUntil)
	case !p.Consume:
		out.Until = Time(p.ProduceUntil)
	default:
		out.ProduceUntil, out.ConsumeUntil = Time(p.ProduceUntil), Time(p.ConsumeUntil)
	}
	return out
}
