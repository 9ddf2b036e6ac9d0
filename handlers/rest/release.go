package rest

import "net/http"

// ReleaseRequest names a consumer.
type ReleaseRequest struct {
	// As in its receives.
	Consumer string `json:"consumer" validate:"required" example:"worker-7"`
}

// ReleaseAnswer counts what was given back.
type ReleaseAnswer struct {
	Released int `json:"released" validate:"required" example:"3"`
}

// Release gives back all that a consumer holds.
//
// @Summary Release all of a consumer
// @Description Gives back all messages that a consumer holds in this queue, ready at once. The deliveries do not count, since the consumer says that it did not try the messages: receives falls by one, and none is dead by it. Its receipts settle them no more once others have received them.
// @ID release
// @Tags messages
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param request body ReleaseRequest true "Who"
// @Success 200 {object} ReleaseAnswer
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/release [post]
func (a *API) Release(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	var req ReleaseRequest
	if err := a.decode(w, r, &req); err != nil {
		return err
	}
	released, err := a.engine.Release(r.Context(), ref, req.Consumer)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, ReleaseAnswer{Released: released})
}
