package rest

import (
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// PurgeRequest chooses the messages to remove: those to which all of it applies; an empty one chooses all.
type PurgeRequest struct {
	// ready, delayed, leased or dead; several with commas.
	State *string `json:"state,omitzero" example:"dead"`
	// The messages of this group; the empty name stands for those without one.
	Group *string `json:"group,omitzero" example:"customer-7"`
	// Messages that first became available here this long ago.
	OlderThan *Duration `json:"older_than,omitzero" swaggertype:"string" extensions:"x-duration" example:"1h"`
}

// PurgeAnswer counts what was removed.
type PurgeAnswer struct {
	Purged int64 `json:"purged" validate:"required" example:"12"`
}

// Purge removes messages.
//
// @Summary Purge a queue
// @Description Removes all messages, leased ones too, or those that the request chooses; complete when answered. Removing all also forgets deduplication ids.
// @ID purge
// @Tags queues
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param request body PurgeRequest false "Which messages; all if left out"
// @Success 200 {object} PurgeAnswer
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/purge [post]
func (a *API) Purge(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	var req PurgeRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	purged, err := a.engine.Purge(r.Context(), ref, engine.Filter{
		States: chosenStates(req.State), Group: req.Group, OlderThan: (*time.Duration)(req.OlderThan),
	})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, PurgeAnswer{Purged: purged})
}
