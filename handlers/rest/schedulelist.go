package rest

import "net/http"

// ListSchedules shows the schedules of a queue, by name.
//
// @Summary List schedules
// @Description The queue's schedules, by name. A page may have fewer entries than were asked for and still have a cursor.
// @ID listSchedules
// @Tags schedules
// @Produce json
// @Param q path string true "Queue name"
// @Param limit query int false "Entries a page, from 1 to 1000" default(100)
// @Param cursor query string false "The cursor of the page before"
// @Success 200 {object} ScheduleList
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/schedules [get]
func (a *API) ListSchedules(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	params, err := query(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, after, err := params.page(r)
	if err != nil {
		return err
	}
	found, more, err := a.engine.Schedules(r.Context(), ref, after, limit)
	if err != nil {
		return err
	}
	if more && len(found) == limit {
		// There may be nothing behind a full page.
		next, _, err := a.engine.Schedules(r.Context(), ref, found[limit-1].Name, 1)
		if err != nil {
			return err
		}
		more = len(next) > 0
	}
	page := ScheduleList{Schedules: make([]Schedule, len(found))}
	for i, s := range found {
		page.Schedules[i] = scheduleOf(s)
	}
	if more && len(found) > 0 {
		page.Cursor = params.encodeCursor(r, found[len(found)-1].Name)
	}
	return reply(w, http.StatusOK, page)
}
