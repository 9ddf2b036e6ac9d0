package rest

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// maxAdvance is the most one call moves the clock.
	maxAdvance = 366 * 24 * time.Hour
	// lastAdvance is the last year that the clock may be moved to. Times of 64-bit nanoseconds end in 2262, and a delay or a
	// retention may be long.
	lastAdvance = 2150
)

// AdvanceClockRequest says how far the clock goes.
type AdvanceClockRequest struct {
	// At most 8784h, a year. The clock goes up to the year 2150.
	By *Duration `json:"by" validate:"required" swaggertype:"string" extensions:"x-duration" example:"5m"`
}

// AdvanceClockAnswer is what the clock shows now.
type AdvanceClockAnswer struct {
	Now time.Time `json:"now" validate:"required" format:"date-time"`
}

// AdvanceClock moves the clock of a development server forward.
//
// @Summary Move the development clock
// @Description Only on a server that was started with --dev, for test suites that would have to sleep otherwise: delays, leases, retries, deduplication, time to live, retention and the waits of receives see the time pass at once. Schedules do, too, but a fire time that is passed by more than a minute was missed. It cannot be moved back. A restart begins with the system's wall clock again, and what had elapsed stays elapsed. Tokens and signatures are checked as if the time had not passed, since those who sign have the system's clock; POST /v1/dev/clock/step moves it for them, too. With keys configured it needs admin:*:* in the default tenant, since it is the clock of all.
// @ID advanceClock
// @Tags server
// @Accept json
// @Produce json
// @Param request body AdvanceClockRequest true "How far"
// @Success 200 {object} AdvanceClockAnswer
// @Failure 400,401,403,404,413,415,default {object} problem.Document
// @Security bearer
// @Router /v1/dev/clock/advance [post]
func (a *API) AdvanceClock(w http.ResponseWriter, r *http.Request) error {
	if err := a.RequireAdmin(r); err != nil {
		return err
	}
	if a.advance == nil {
		return errSystemClock
	}
	var req AdvanceClockRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	if req.By == nil || *req.By <= 0 || time.Duration(*req.By) > maxAdvance {
		return invalid("by", "Give a duration above 0, at most 8784h: the clock goes forward only.")
	}
	if a.advance(0).Add(time.Duration(*req.By)).Year() > lastAdvance {
		return invalid("by", fmt.Sprintf("The clock goes up to the year %d; restart the server to have the system's time again.", lastAdvance))
	}
	return reply(w, http.StatusOK, AdvanceClockAnswer{Now: a.advance(time.Duration(*req.By)).UTC()})
}
