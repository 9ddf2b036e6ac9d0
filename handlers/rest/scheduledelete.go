package rest

import "net/http"

// DeleteSchedule ends a schedule.
//
// @Summary Delete a schedule
// @Description Nothing is sent by it any more. Messages it has sent stay.
// @ID deleteSchedule
// @Tags schedules
// @Produce json
// @Param q path string true "Queue name"
// @Param name path string true "Schedule name"
// @Success 204 "Deleted"
// @Failure 400,401,403,404,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/schedules/{name} [delete]
func (a *API) DeleteSchedule(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	if err := a.engine.DeleteSchedule(r.Context(), ref, pathValue(r, "name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
