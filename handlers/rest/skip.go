package rest

import "net/http"

// SkipAnswer says which message was removed.
type SkipAnswer struct {
	// The id of the message; null when the group had none to skip.
	Skipped *string `json:"skipped" validate:"required" extensions:"x-nullable" example:"0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21"`
}

// SkipGroup removes the head of a group.
//
// @Summary Skip the head of a group
// @Description Removes the message that keeps a FIFO group locked or, if none does, the one that the group offers next, so that the group goes on.
// @ID skipGroup
// @Tags groups
// @Produce json
// @Param q path string true "Queue name"
// @Param g path string true "Group, percent-encoded; %00 for the messages without one"
// @Success 200 {object} SkipAnswer
// @Failure 400,401,403,404,409,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/groups/{g}/skip [post]
func (a *API) SkipGroup(w http.ResponseWriter, r *http.Request) error {
	ref, group, err := a.group(r)
	if err != nil {
		return err
	}
	if err := a.decode(w, r, &struct{}{}); err != nil {
		return err
	}
	id, err := a.engine.SkipGroup(r.Context(), ref, group)
	if err != nil {
		return err
	}
	var answer SkipAnswer
	if id != nil {
		answer.Skipped = new(id.String())
	}
	return reply(w, http.StatusOK, answer)
}
