package rest

import "net/http"

// Delete removes a queue for ever.
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
	if err := a.engine.DeleteQueue(r.Context(), ref, force); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
