package rest

import (
	"math"
	"net/http"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// QueueNumbers are what this node has done with a queue since it started.
type QueueNumbers struct {
	Rates Rates `json:"rates" validate:"required"`
	// How long messages waited, from when they became available here to their first delivery.
	WaitTime WaitTime `json:"wait_time" validate:"required"`
	// Seconds until nothing is ready or leased, with these rates; null when that is not in sight.
	DrainSeconds *float64 `json:"drain_seconds" validate:"required" extensions:"x-nullable" example:"42.5"`
	// Workers that handle one message at a time and would deal with what is ready, leased and coming in within five minutes,
	// each as fast as those at work in the last minute; null when nothing was acked in it.
	SuggestedWorkers *int `json:"suggested_workers" validate:"required" extensions:"x-nullable" example:"3"`
	// Messages that a full queue let go, as its overflow says.
	Dropped int64 `json:"dropped" validate:"required"`
	// Messages whose retention or time to live had ended.
	Expired int64 `json:"expired" validate:"required"`
}

// Rates are messages a second, over about the last minute.
type Rates struct {
	// Sent or moved here.
	In float64 `json:"in" validate:"required" example:"12.5"`
	// Delivered.
	Out   float64 `json:"out" validate:"required" example:"12.5"`
	Acked float64 `json:"acked" validate:"required" example:"12.4"`
}

// WaitTime tells how long messages waited, exact to a quarter; null while there were none.
type WaitTime struct {
	// The messages that were delivered for the first time.
	Count uint64    `json:"count" validate:"required" example:"1000"`
	P50   *Duration `json:"p50" validate:"required" swaggertype:"string" extensions:"x-nullable" example:"3ms"`
	P90   *Duration `json:"p90" validate:"required" swaggertype:"string" extensions:"x-nullable" example:"12ms"`
	P99   *Duration `json:"p99" validate:"required" swaggertype:"string" extensions:"x-nullable" example:"1.5s"`
}

// Describe shows a queue's configuration and its live counts, which are exact unless it has shards.
//
// @Summary Show a queue
// @Description Its configuration and its live counts, which are exact unless it has shards, and what this node has done with it since it started: rates over about the last minute, how long messages waited, when it will be drained and by how many workers it could be within five minutes. The ETag header names the configuration.
// @ID getQueue
// @Tags queues
// @Produce json
// @Param q path string true "Queue name"
// @Param If-None-Match header string false "Answers 304 while the configuration has this ETag, however the counts changed"
// @Success 200 {object} Queue
// @Success 304 "The configuration is the same"
// @Header 200 {string} ETag "Names this state of the configuration"
// @Failure 400,401,403,404,503,default {object} problem.Document
// @Security bearer
// @Router /v1/queues/{q} [get]
func (a *API) Describe(w http.ResponseWriter, r *http.Request) error {
	ref, err := a.queue(r, "read")
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	q, err := a.engine.Queue(r.Context(), ref)
	if err != nil {
		return err
	}
	if unchanged(w, r, q.ETag) {
		return nil
	}
	return replyQueue(w, http.StatusOK, q)
}

func numbersOf(n engine.Numbers) QueueNumbers {
	out := QueueNumbers{
		Rates:   Rates{In: thousandths(n.In), Out: thousandths(n.Out), Acked: thousandths(n.Acked)},
		Dropped: n.Dropped, Expired: n.Expired,
	}
	if w := n.Waits; w != nil {
		quantile := func(part float64) *Duration { return new(Duration(w.Quantile(part).Truncate(time.Millisecond))) }
		out.WaitTime = WaitTime{Count: w.Count, P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.99)}
	}
	if n.Drain >= 0 {
		out.DrainSeconds = new(thousandths(n.Drain.Seconds()))
	}
	if n.Workers >= 0 {
		out.SuggestedWorkers = &n.Workers
	}
	return out
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }
