package rest

import (
	"net/http"
)

// AckOne acks one message, by the receipt in the path.
//
// @Summary Ack one message
// @Description The same as ack with one receipt, also for a lease that has ended.
// @ID ackOne
// @Tags messages
// @Produce json
// @Param q path string true "Queue name"
// @Param receipt path string true "The receipt of its last delivery"
// @Param acks query string false "leader or all: how many copies there must be before the answer; by default what the queue says" Enums(leader, all)
// @Success 204 "Removed, or gone already"
// @Failure 400,401,403,404,409,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/messages/{receipt} [delete]
func (a *API) AckOne(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	if _, err := query(r, acksParameter); err != nil {
		return err
	}
	results, err := a.engine.Ack(r.Context(), ref, []string{pathValue(r, "receipt")}, askedAcks(r))
	if err != nil {
		return err
	}
	if refused := results[0].Err; refused != nil {
		return fieldOf(refused, "receipts[0]", "receipt")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
