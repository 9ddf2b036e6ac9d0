// Package handlers is the whole HTTP surface: which path leads to which operation, and the server around it.
//
// What the operations do lives in package rest, who may call them in package auth, what every request passes through
// in package middleware, and what is counted in package metrics.
package handlers

import (
	"net/http"

	"github.com/dabba-mq/dabba/openapi"
	"github.com/dabba-mq/dabba/web"
)

// New returns the handler of the public address.
func New(c Config) http.Handler { return routes(c) }

func routes(c Config) *surface {
	s := newSurface(c, public)

	// Open to everyone.
	s.open(http.MethodGet, "/", s.orSQS(web.Start(c.Verifier != nil)))
	s.open(http.MethodGet, "/docs", openapi.Docs(s.api.Handle(s.api.NotFound)))
	s.open(http.MethodGet, "/docs/*", openapi.Docs(s.api.Handle(s.api.NotFound)))
	s.open(http.MethodGet, "/openapi.json", openapi.Document())
	s.open(http.MethodGet, "/healthz", s.api.Handle(s.api.Health))
	s.open(http.MethodGet, "/readyz", s.api.Handle(s.api.Ready))

	// For principals.
	s.call(http.MethodGet, "/v1/info", s.api.Info)
	s.call(http.MethodGet, "/v1/whoami", s.api.WhoAmI)
	s.call(http.MethodPost, "/v1/dev/clock/advance", s.api.AdvanceClock)
	s.call(http.MethodPost, "/v1/dev/clock/step", s.api.StepClock)

	s.call(http.MethodGet, "/v1/queues", s.api.List)
	s.call(http.MethodPut, "/v1/queues/{q}", s.api.Create)
	s.call(http.MethodPatch, "/v1/queues/{q}", s.api.Change)
	s.call(http.MethodGet, "/v1/queues/{q}", s.api.Describe)
	s.call(http.MethodDelete, "/v1/queues/{q}", s.api.Delete)
	s.call(http.MethodPost, "/v1/queues/{q}/pause", s.api.Pause)
	s.call(http.MethodPost, "/v1/queues/{q}/resume", s.api.Resume)

	s.call(http.MethodPost, "/v1/queues/{q}/messages", s.api.Send)
	s.call(http.MethodPost, "/v1/queues/{q}/receive", s.api.Receive)
	s.call(http.MethodPost, "/v1/queues/{q}/ack", s.api.Ack)
	s.call(http.MethodPost, "/v1/queues/{q}/nack", s.api.Nack)
	s.call(http.MethodPost, "/v1/queues/{q}/extend", s.api.Extend)
	s.call(http.MethodDelete, "/v1/queues/{q}/messages/{receipt}", s.api.AckOne)
	s.call(http.MethodPost, "/v1/queues/{q}/release", s.api.Release)
	s.call(http.MethodPost, "/v1/receive", s.api.ReceiveMany)

	s.call(http.MethodGet, "/v1/queues/{q}/messages", s.api.Browse)
	s.call(http.MethodGet, "/v1/queues/{q}/messages/id/{id}", s.api.Look)
	s.call(http.MethodPatch, "/v1/queues/{q}/messages/id/{id}", s.api.Reschedule)
	s.call(http.MethodDelete, "/v1/queues/{q}/messages/id/{id}", s.api.Remove)
	s.call(http.MethodPost, "/v1/queues/{q}/purge", s.api.Purge)

	s.call(http.MethodPost, "/v1/queues/{q}/redrive", s.api.Redrive)
	s.call(http.MethodGet, "/v1/tasks", s.api.Tasks)
	s.call(http.MethodGet, "/v1/tasks/{id}", s.api.Task)
	s.call(http.MethodDelete, "/v1/tasks/{id}", s.api.CancelTask)

	s.call(http.MethodGet, "/v1/queues/{q}/groups", s.api.Groups)
	s.call(http.MethodPost, "/v1/queues/{q}/groups/{g}/skip", s.api.SkipGroup)
	s.call(http.MethodPost, "/v1/queues/{q}/groups/{g}/dead-letter", s.api.DeadLetterGroup)
	s.call(http.MethodPost, "/v1/queues/{q}/groups/{g}/purge", s.api.PurgeGroup)

	s.call(http.MethodGet, "/v1/queues/{q}/schedules", s.api.ListSchedules)
	s.call(http.MethodPut, "/v1/queues/{q}/schedules/{name}", s.api.PutSchedule)
	s.call(http.MethodGet, "/v1/queues/{q}/schedules/{name}", s.api.DescribeSchedule)
	s.call(http.MethodDelete, "/v1/queues/{q}/schedules/{name}", s.api.DeleteSchedule)

	s.call(http.MethodGet, "/v1/topics", s.api.ListTopics)
	s.call(http.MethodPut, "/v1/topics/{t}", s.api.CreateTopic)
	s.call(http.MethodGet, "/v1/topics/{t}", s.api.DescribeTopic)
	s.call(http.MethodDelete, "/v1/topics/{t}", s.api.DeleteTopic)

	s.call(http.MethodPost, "/v1/topics/{t}/records", s.api.Produce)
	s.call(http.MethodGet, "/v1/topics/{t}/partitions/{p}/records", s.api.Read)
	s.call(http.MethodDelete, "/v1/topics/{t}/partitions/{p}/records", s.api.Trim)
	s.call(http.MethodPut, "/v1/topics/{t}/offsets/{name}", s.api.Commit)
	s.call(http.MethodGet, "/v1/topics/{t}/offsets/{name}", s.api.Committed)

	// For clients of Amazon SQS, which say who they are in their own way.
	s.open(http.MethodPost, "/", s.sqs)
	s.open(http.MethodPost, "/{account:[0-9]+}/{queue}", s.sqs)
	s.open(http.MethodGet, "/{account:[0-9]+}/{queue}", s.sqs)

	if !c.SeparateAdmin {
		s.call(http.MethodGet, "/metrics", s.metrics)
	}
	return s
}

// NewAdmin returns the handler of the admin address, which needs no token: whoever can reach it may look.
func NewAdmin(c Config) http.Handler {
	s := newSurface(c, admin)
	s.open(http.MethodGet, "/healthz", s.api.Handle(s.api.Health))
	s.open(http.MethodGet, "/readyz", s.api.Handle(s.api.Ready))
	s.open(http.MethodGet, "/metrics", c.Metrics.Handler())
	return s
}
