package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// firstStep is the first year that the wall clock may be set back to.
const firstStep = 1980

// StepClockRequest says how far the wall clock is set.
type StepClockRequest struct {
	// Forward, or back if it is negative; at most 8784h, a year. The clock shows years from 1980 to 2150.
	By *Shift `json:"by" validate:"required" swaggertype:"string" extensions:"x-duration" example:"-1h"`
}

// StepClock sets the wall clock of a development server.
//
// @Summary Set the development wall clock
// @Description Only on a server that was started with --dev. It sets the wall clock alone, forward or back, as a correction of the machine's clock would: delays, leases, retention and all else that lasts do not notice; deliver_at, schedules, timed pauses and all times that are shown follow. Tokens and signatures are checked by it, too. The variable DABBA_DEV_WALL_OFFSET is such a step before the start. With keys configured it needs admin:*:* in the default tenant, since it is the clock of all.
// @ID stepClock
// @Tags server
// @Accept json
// @Produce json
// @Param request body StepClockRequest true "How far"
// @Success 200 {object} AdvanceClockAnswer
// @Failure 400,401,403,404,413,415,default {object} problem.Document
// @Security bearer
// @Router /v1/dev/clock/step [post]
func (a *API) StepClock(w http.ResponseWriter, r *http.Request) error {
	if err := a.RequireAdmin(r); err != nil {
		return err
	}
	if a.step == nil {
		return errSystemClock
	}
	var req StepClockRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	if req.By == nil || *req.By == 0 || time.Duration(*req.By).Abs() > maxAdvance {
		return invalid("by", "Give a duration other than 0, at most 8784h forward or back.")
	}
	if year := a.step(0).Add(time.Duration(*req.By)).Year(); year < firstStep || year > lastAdvance {
		return invalid("by", fmt.Sprintf("The clock shows years from %d to %d; restart the server to have the system's time again.", firstStep, lastAdvance))
	}
	return reply(w, http.StatusOK, AdvanceClockAnswer{Now: a.step(time.Duration(*req.By)).UTC()})
}

var errSystemClock = &engine.Error{
	Code: engine.CodeNotFound, Outcome: engine.NotApplied,
	Detail: "This server's clock is the system's; start a server for tests with --dev to move its clock.",
}
