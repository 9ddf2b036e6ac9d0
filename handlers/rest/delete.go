package rest

import "net/http"

// Delete removes a queue for ever.
//
// @Summary Delete a queue
// @Description For ever. Refused with 409 while messages remain or another queue names it as dead-letter queue, unless forced.
// @ID deleteQueue
// @Tags queues
// @Produce json
// @Param q path string true "Queue name"
// @Param If-Match header string false "Only if the queue has this ETag; * for one that exists"
// @Param force query bool false "Delete whatever is in it"
// @Success 204 "Deleted"
// @Failure 400,401,403,404,409,412,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q} [delete]
func (a *API) Delete(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	params, err := query(r, "force")
	if err != nil {
		return err
	}
	force, err := params.flag("force")
	if err != nil {
		return err
	}
	only, err := a.queueCondition(r)
	if err != nil {
		return err
	}
	if err := a.engine.DeleteQueue(r.Context(), ref, only, force); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
