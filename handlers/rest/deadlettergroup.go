package rest

import "net/http"

// DeadLetterRequest says why messages are dead.
type DeadLetterRequest struct {
	// Kept with the messages and shown on their dead letters; cut to 1024 bytes.
	Reason string `json:"reason,omitzero" example:"customer is gone"`
}

// DeadLetterAnswer counts the messages that became dead.
type DeadLetterAnswer struct {
	DeadLettered int `json:"dead_lettered" validate:"required" example:"12"`
}

// DeadLetterGroup makes all messages of a group dead.
//
// @Summary Dead-letter a group
// @Description Makes all messages of a group dead, leased ones too, and so frees it. They move to the queue's dead-letter queue, if it has one: the first of them before the answer, very many of them soon after. Without one they stay, as dead.
// @ID deadLetterGroup
// @Tags groups
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param g path string true "Group, percent-encoded; %00 for the messages without one"
// @Param request body DeadLetterRequest false "Why"
// @Success 200 {object} DeadLetterAnswer
// @Failure 400,401,403,404,409,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/groups/{g}/dead-letter [post]
func (a *API) DeadLetterGroup(w http.ResponseWriter, r *http.Request) error {
	ref, group, err := a.group(r)
	if err != nil {
		return err
	}
	var req DeadLetterRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	died, err := a.engine.DeadLetterGroup(r.Context(), ref, group, req.Reason)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, DeadLetterAnswer{DeadLettered: died})
}
