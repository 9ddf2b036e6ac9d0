package rest

import "net/http"

// Health says that the process is alive and answers.
//
// @Summary Say that the process is alive
// @ID health
// @Tags server
// @Produce json
// @Success 200 {object} Status
// @Router /healthz [get]
func (a *API) Health(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, Status{Status: "ok"})
}
