package rest

import "net/http"

// Describe shows a queue's configuration and its live, exact counts.
//
// @Summary Show a queue
// @Description Its configuration and its live, exact counts. The ETag header names the configuration.
// @ID getQueue
// @Tags queues
// @Produce json
// @Param q path string true "Queue name"
// @Param If-None-Match header string false "Answers 304 while the configuration has this ETag, however the counts changed"
// @Success 200 {object} Queue
// @Success 304 "The configuration is the same"
// @Header 200 {string} ETag "Names this state of the configuration"
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q} [get]
func (a *API) Describe(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	q, err := a.engine.Queue(r.Context(), ref)
	if err != nil {
		return err
	}
	if unchanged(r, q.ETag) {
		w.Header().Set("ETag", quoted(q.ETag))
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return replyQueue(w, http.StatusOK, q)
}
