package rest

import "net/http"

// PutSchedule makes a schedule, or gives it new content.
//
// @Summary Create or replace a schedule
// @Description Sends a message again and again, by a cron expression read in a time zone: exactly once for each fire time, also over restarts and with several servers. Where clocks are put forward, a schedule for fixed hours whose time does not exist that day fires at the first moment after the gap; where they are put back, a time that comes twice fires the first time only. A schedule that fires in every hour, or @every so often, goes on through real time. A send that fails (the queue is full or paused, the disk is full) is tried again until the next fire time. Each message has the attributes dabba-schedule (the name) and dabba-fire-time. As long as cron and tz stay the same, putting a schedule again does not change its fire times. Needs the scopes queues:manage and queues:send.
// @ID putSchedule
// @Tags schedules
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param name path string true "Schedule name: letters, digits, - and _, at most 80"
// @Param schedule body ScheduleRequest true "The schedule"
// @Success 200 {object} Schedule "Changed, or the same"
// @Success 201 {object} Schedule "Created"
// @Header 201 {string} Location "The schedule's path"
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/schedules/{name} [put]
func (a *API) PutSchedule(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "manage")
	if err != nil {
		return err
	}
	// What is sent later is sent for whoever asks for it now.
	if err := a.principal(r).Require("queues", "send", ref.Name); err != nil {
		return err
	}
	var req ScheduleRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	name := pathValue(r, "name")
	s, created, err := a.engine.PutSchedule(r.Context(), ref, name, req.engine())
	if err != nil {
		return err
	}
	if !created {
		return reply(w, http.StatusOK, scheduleOf(s))
	}
	w.Header().Set("Location", "/v1/queues/"+ref.Name+"/schedules/"+name)
	return reply(w, http.StatusCreated, scheduleOf(s))
}
