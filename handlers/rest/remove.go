package rest

import "net/http"

// Remove removes one message, by its id.
//
// @Summary Remove a message
// @Description Removes a message in any state, leased or not. 404 when it is not in the queue (any more).
// @ID removeMessage
// @Tags messages
// @Produce json
// @Param q path string true "Queue name"
// @Param id path string true "The message's id"
// @Success 204 "Removed"
// @Failure 400,401,403,404,409,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/messages/id/{id} [delete]
func (a *API) Remove(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	id, err := messageID(r)
	if err != nil {
		return err
	}
	if err := a.engine.Remove(r.Context(), ref, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
