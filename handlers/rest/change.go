package rest

import "net/http"

// Change sets some of a queue's configuration and leaves the rest (a JSON merge patch, RFC 7396).
func (a *API) Change(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	match, err := ifMatch(r)
	if err != nil {
		return err
	}
	patch, err := a.readPatch(w, r)
	if err != nil {
		return err
	}
	q, err := a.engine.ChangeQueue(r.Context(), ref, match, patch.onto)
	if err != nil {
		return err
	}
	return replyQueue(w, http.StatusOK, q)
}
