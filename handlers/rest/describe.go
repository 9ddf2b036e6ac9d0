package rest

import "net/http"

// Describe shows a queue's configuration and its live, exact counts.
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
	return replyQueue(w, http.StatusOK, q)
}
