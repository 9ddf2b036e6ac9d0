package rest

import "net/http"

// Change sets some of a queue's configuration and leaves the rest (a JSON merge patch, RFC 7396).
//
// @Summary Change some of a queue's configuration
// @Description A JSON merge patch (RFC 7396): fields that are left out stay as they are, null returns one to its default. To name a dead-letter queue that it does not have yet, a token needs queues:send on that one. It need not exist yet; as long as it does not, warnings in the answer says so.
// @ID patchQueue
// @Tags queues
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param If-Match header string false "Only if the queue has this ETag; * for one that exists"
// @Param config body QueueConfig false "The changes"
// @Success 200 {object} Queue
// @Header 200 {string} ETag "Names this state of the configuration"
// @Failure 400,401,403,404,409,412,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q} [patch]
func (a *API) Change(w http.ResponseWriter, r *http.Request) error {
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
	q, err := a.engine.ChangeQueue(r.Context(), ref, only, patch.onto)
	if err != nil {
		return err
	}
	return replyQueue(w, http.StatusOK, q, a.warningsOf(r, q)...)
}
