package rest

import "net/http"

// Health says that the process is alive and answers.
func (a *API) Health(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, Status{Status: "ok"})
}
