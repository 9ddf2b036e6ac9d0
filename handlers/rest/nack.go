package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// Nack gives messages back, to be delivered again as the retry policy or the request says, or to be dead.
//
// @Summary Nack messages
// @Description Gives messages back. Without a delay the queue's retry policy says when they are delivered again; with "dead" they never are. A lease that has ended is no obstacle while nobody received the message since; after that, and on a FIFO queue at once, the receipt is refused (lease_lost). Each item is judged on its own: a delay that means nothing is the result of its item, while unknown fields and values of another JSON type refuse the whole request.
// @ID nack
// @Tags messages
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param acks query string false "leader or all: how many copies there must be before the answer; by default what the queue says" Enums(leader, all)
// @Param request body NackRequest true "The deliveries"
// @Success 200 {object} Results
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/nack [post]
func (a *API) Nack(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	var req NackRequest
	if err := a.decode(w, r, &req, acksParameter); err != nil {
		return err
	}
	items, err := req.engine()
	if err != nil {
		return err
	}
	results, err := a.engine.Nack(r.Context(), ref, items, askedAcks(r))
	if err != nil {
		return err
	}
	if req.Items == nil {
		shared(results)
	}
	return replyResults(w, results)
}

func (req *NackRequest) engine() ([]engine.NackItem, error) {
	if err := oneList(req.Items, req.Receipts); err != nil {
		return nil, err
	}
	if req.Items == nil {
		items := make([]engine.NackItem, len(req.Receipts))
		for i, receipt := range req.Receipts {
			items[i] = engine.NackItem{Receipt: receipt, Reason: req.Reason, Delay: (*time.Duration)(req.Delay), Dead: req.Dead}
		}
		return items, nil
	}
	if req.Delay != nil || req.Reason != "" || req.Dead {
		return nil, invalid("items", "With items, give delay, reason and dead in each of them.")
	}
	items := make([]engine.NackItem, len(req.Items))
	for i, item := range req.Items {
		items[i] = engine.NackItem{
			Receipt: item.Receipt,
			Reason:  item.Reason,
			Delay:   (*time.Duration)(item.Delay),
			Dead:    item.Dead,
			Refused: item.fault.refused,
		}
	}
	return items, nil
}

// oneList refuses a request that has both or none of its two lists, or nothing in it.
func oneList[T any](items []T, receipts []string) error {
	switch {
	case items != nil && receipts != nil:
		return invalid("items", "Give either items or receipts, not both.")
	case items == nil && receipts == nil:
		return invalid("receipts", "The receipts are missing: give receipts, or items with a receipt each.")
	case items == nil:
		return notNone("receipts", len(receipts))
	}
	return notNone("items", len(items))
}

// notNone refuses an empty list.
func notNone(field string, n int) error {
	if n == 0 {
		return invalid(field, fmt.Sprintf("The list %s is empty: give 1 to %d.", field, engine.MaxBatch))
	}
	return nil
}

// shared changes the fields of refusals that are about what all receipts of a request have in common.
func shared(results []engine.ItemResult) {
	for i, result := range results {
		if result.Err != nil {
			results[i].Err = fieldOf(result.Err, fmt.Sprintf("items[%d].", i), "")
		}
	}
}
