package rest

import (
	"net/http"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

// features are what this server can do beyond the plain verbs, for clients that talk to several versions.
var features = []string{
	"ack-on-receive", "attempt-id", "batch", "browse", "committed-offsets", "dead-letter", "deduplication", "etag", "fair", "fifo",
	"groups", "history", "idempotency-key", "limits", "long-poll", "message-timeline", "multi-receive", "pause", "priorities",
	"purge", "queue-numbers", "raw-body", "redrive", "release", "reschedule", "retry-policy", "schedules", "shards", "tasks", "topics",
	"traceparent", "ttl",
}

// Info describes the server.
//
// @Summary Describe the server
// @ID info
// @Tags server
// @Produce json
// @Success 200 {object} Info
// @Failure 401,default {object} problem.Document
// @Security bearer
// @Router /v1/info [get]
func (a *API) Info(w http.ResponseWriter, _ *http.Request) error {
	s := a.engine.StoreInfo()
	var failovers *Failovers
	if a.failovers != nil {
		failovers = a.failovers()
	}
	var clock *ClockInfo
	if a.clock != nil {
		clock = a.clock()
	}
	return reply(w, http.StatusOK, Info{
		Failovers: failovers,
		Clock:     clock,
		Version:   a.version,
		Store:     s.Name,
		Promise:   s.Promise,
		Durable:   s.Durable,
		Features:  features,
		Limits: Limits{
			MaxBatch:        engine.MaxBatch,
			MaxMessageBytes: engine.MaxMessageBytesLimit,
			MaxAnswerBytes:  engine.MaxAnswerBytes,
			MaxBodyBytes:    exchange.MaxBody,
			MaxWait:         Duration(engine.MaxWait),
			MemoryBytes:     a.exchange.Budget.Limit(),
			MemoryUsedBytes: a.exchange.Budget.Used(),
		},
	})
}
