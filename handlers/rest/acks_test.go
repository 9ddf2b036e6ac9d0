package rest_test

import (
	"net/http"
	"testing"

	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

// TestAcksAreAskedFor has each call that takes the parameter take both choices, and refuse any other by its name.
func TestAcksAreAskedFor(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"acks":"all"}`)
	srv.Get("/v1/queues/q").Want(http.StatusOK).Has(`"acks":"all","min_insync_replicas":1`)
	srv.Put("/v1/topics/t", "").Want(http.StatusCreated).Has(`"acks":"leader","min_insync_replicas":1`)
	const raw, text = "Content-Type", "text/plain"
	for _, acks := range []string{"leader", "all"} {
		ask := "?acks=" + acks
		srv.Post("/v1/queues/q/messages"+ask, `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`).Want(http.StatusOK)
		srv.Post("/v1/queues/q/messages"+ask+"&delay=1h", "later", raw, text).Want(http.StatusOK)
		srv.Post("/v1/topics/t/records"+ask, `{"records":[{"value":"a"}]}`).Want(http.StatusOK)
		srv.Post("/v1/topics/t/records"+ask+"&key=k", "b", raw, text).Want(http.StatusOK)
		got := receive(t, srv, `{"max":3}`)
		srv.Post("/v1/queues/q/extend"+ask, `{"visibility":"1h","receipts":["`+got[0].Receipt+`"]}`).Want(http.StatusOK).Has(`{"ok":true}`)
		srv.Post("/v1/queues/q/nack"+ask, `{"dead":true,"receipts":["`+got[0].Receipt+`"]}`).Want(http.StatusOK).Has(`{"ok":true}`)
		srv.Post("/v1/queues/q/ack"+ask, `{"receipts":["`+got[1].Receipt+`"]}`).Want(http.StatusOK).Has(`{"ok":true}`)
		srv.Delete("/v1/queues/q/messages/" + got[2].Receipt + ask).Want(http.StatusNoContent)
	}
	for path, body := range map[string]string{
		"/v1/queues/q/messages": `{"body":"a"}`,
		"/v1/topics/t/records":  `{"records":[{"value":"a"}]}`,
		"/v1/queues/q/ack":      `{"receipts":["r"]}`,
		"/v1/queues/q/nack":     `{"receipts":["r"]}`,
		"/v1/queues/q/extend":   `{"receipts":["r"],"visibility":"1m"}`,
	} {
		srv.Post(path+"?acks=some", body).Refused(http.StatusBadRequest, "invalid_request", "acks")
	}
	srv.Post("/v1/queues/q/messages?acks=1", "raw", raw, text).Refused(http.StatusBadRequest, "invalid_request", "acks")
	srv.Delete("/v1/queues/q/messages/r?acks=some").Refused(http.StatusBadRequest, "invalid_request", "acks")
	srv.Post("/v1/queues/q/receive?acks=all", "").Refused(http.StatusBadRequest, "unknown_field", "acks")
}

func TestCopiesAreChecked(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	for body, field := range map[string]string{
		`{"acks":"1"}`:                 "acks",
		`{"min_insync_replicas":0}`:    "min_insync_replicas",
		`{"min_insync_replicas":33}`:   "min_insync_replicas",
		`{"min_insync_replicas":2}`:    "min_insync_replicas",
		`{"min_insync_replicas":"no"}`: "min_insync_replicas",
	} {
		srv.Put("/v1/queues/q", body).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Put("/v1/queues/q", `{"acks":"all","min_insync_replicas":1}`).Want(http.StatusCreated)
	srv.Patch("/v1/queues/q", `{"acks":null}`).Want(http.StatusOK).Has(`"acks":"leader"`)
	srv.Patch("/v1/queues/q", `{"min_insync_replicas":2}`).Refused(http.StatusBadRequest, "invalid_request", "min_insync_replicas")
}
