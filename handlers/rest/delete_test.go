package rest_test

import (
	"net/http"
	"testing"
)

func TestDeleteRemovesAnEmptyQueue(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Delete("/v1/queues/q").Want(http.StatusNoContent)
	srv.Get("/v1/queues/q").Refused(http.StatusNotFound, "not_found", "")
	srv.Delete("/v1/queues/q").Refused(http.StatusNotFound, "not_found", "")
}

func TestDeleteSparesMessagesUnlessForced(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
	srv.Delete("/v1/queues/q").Refused(http.StatusConflict, "conflict", "")
	srv.Delete("/v1/queues/q?force=maybe").Refused(http.StatusBadRequest, "invalid_request", "force")
	srv.Delete("/v1/queues/q?force=true").Want(http.StatusNoContent)
}

func TestDeleteSparesADeadLetterQueueUnlessForced(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"dead_letter":{"queue":"dead"}}`)
	srv.Put("/v1/queues/dead", "").Want(http.StatusCreated)
	srv.Delete("/v1/queues/dead").Refused(http.StatusConflict, "conflict", "")
	srv.Delete("/v1/queues/dead?force").Want(http.StatusNoContent)
}
