package rest

import (
	"net/http"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// Ack removes messages that are done with.
//
// @Summary Ack messages
// @Description Removes messages that are done with. Repeating an ack is harmless. A lease that has ended is no obstacle while nobody received the message since; after that, and on a FIFO queue at once, the receipt is refused (lease_lost).
// @ID ack
// @Tags messages
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param acks query string false "leader or all: how many copies there must be before the answer; by default what the queue says" Enums(leader, all)
// @Param request body AckRequest true "The receipts"
// @Success 200 {object} Results
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/ack [post]
func (a *API) Ack(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	var req AckRequest
	if err := a.decode(w, r, &req, acksParameter); err != nil {
		return err
	}
	if req.Receipts == nil {
		return invalid("receipts", "The list receipts is missing: give the receipts of the messages that are done.")
	}
	if err := notNone("receipts", len(req.Receipts)); err != nil {
		return err
	}
	results, err := a.engine.Ack(r.Context(), ref, req.Receipts, askedAcks(r))
	if err != nil {
		return err
	}
	return replyResults(w, results)
}

// replyResults answers with what became of each item. A client that is gone may repeat.
func replyResults(w http.ResponseWriter, results []engine.ItemResult) error {
	out := exchange.NewAnswer()
	defer out.Release()
	b := append(out.Bytes, `{"results":[`...)
	for i, result := range results {
		if i > 0 {
			b = append(b, ',')
		}
		if result.Err == nil {
			b = append(b, `{"ok":true}`...)
			continue
		}
		b = append(appendItemError(append(b, '{'), result.Err), '}')
	}
	out.Bytes = append(b, ']', '}')
	_ = send(w, out, http.StatusOK)
	return nil
}
