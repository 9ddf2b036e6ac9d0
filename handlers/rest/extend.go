package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// Extend lets leases end later, as long as they still run.
//
// @Summary Extend leases
// @Description Lets leases end later. One that has ended, or whose message was delivered again, is refused (lease_lost). Each item is judged on its own: a visibility that is missing or means nothing is the result of its item, while unknown fields and values of another JSON type refuse the whole request.
// @ID extend
// @Tags messages
// @Accept json
// @Produce json
// @Param q path string true "Queue name"
// @Param acks query string false "leader or all: how many copies there must be before the answer; by default what the queue says" Enums(leader, all)
// @Param request body ExtendRequest true "The deliveries"
// @Success 200 {object} Results
// @Failure 400,401,403,404,413,415,503,507,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q}/extend [post]
func (a *API) Extend(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "receive")
	if err != nil {
		return err
	}
	var req ExtendRequest
	if err := a.decode(w, r, &req, acksParameter); err != nil {
		return err
	}
	items, err := req.engine()
	if err != nil {
		return err
	}
	results, err := a.engine.Extend(r.Context(), ref, items, askedAcks(r))
	if err != nil {
		return err
	}
	if req.Items == nil {
		shared(results)
	}
	return replyResults(w, results)
}

func (req *ExtendRequest) engine() ([]engine.ExtendItem, error) {
	if err := oneList(req.Items, req.Receipts); err != nil {
		return nil, err
	}
	if req.Items == nil {
		if req.Visibility == nil {
			return nil, invalid("visibility", "The visibility is missing: say how long the leases shall last from now.")
		}
		items := make([]engine.ExtendItem, len(req.Receipts))
		for i, receipt := range req.Receipts {
			items[i] = engine.ExtendItem{Receipt: receipt, Visibility: time.Duration(*req.Visibility)}
		}
		return items, nil
	}
	if req.Visibility != nil {
		return nil, invalid("items", "With items, give the visibility in each of them.")
	}
	items := make([]engine.ExtendItem, len(req.Items))
	for i, item := range req.Items {
		items[i] = engine.ExtendItem{Receipt: item.Receipt, Refused: item.fault.refused}
		switch {
		case item.Visibility != nil:
			items[i].Visibility = time.Duration(*item.Visibility)
		case items[i].Refused == nil:
			items[i].Refused = invalid(fmt.Sprintf("items[%d].visibility", i), "The visibility is missing: say how long the lease shall last from now.")
		}
	}
	return items, nil
}
