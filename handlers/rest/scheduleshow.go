package rest

import "net/http"

// DescribeSchedule shows a schedule and when it fires.
//
// @Summary Show a schedule
// @Description What it sends, its last fire time and the next three.
// @ID getSchedule
// @Tags schedules
// @Produce json
// @Param q path string true "Queue name"
// @Param name path string true "Schedule name"
// @Success 200 {object} Schedule
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/schedules/{name} [get]
func (a *API) DescribeSchedule(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	s, err := a.engine.Schedule(r.Context(), ref, pathValue(r, "name"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, scheduleOf(s))
}
