package rest_test

import (
	"fmt"
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

func TestIfMatchGuardsDeletion(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	old := srv.Get("/v1/queues/q").Want(http.StatusOK).Header.Get("ETag")
	now := srv.Patch("/v1/queues/q", `{"delay":"1s"}`).Want(http.StatusOK).Header.Get("ETag")

	srv.Delete("/v1/queues/q", "If-Match", old).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Delete("/v1/queues/q?force=true", "If-Match", old).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Delete("/v1/queues/q", "If-Match", "1").Refused(http.StatusBadRequest, "invalid_request", "If-Match")
	srv.Delete("/v1/queues/q", "If-Match", now).Want(http.StatusNoContent)
	srv.Delete("/v1/queues/q", "If-Match", "*").Refused(http.StatusNotFound, "not_found", "")
}

func TestDeleteSaysWhatWouldHelp(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Delete("/v1/queues/none").Want(http.StatusNotFound).Has("the list of queues")

	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
	srv.Delete("/v1/queues/q").Want(http.StatusConflict).Has("consume them first").Has("force=true").Has("--force")
	m := one(t, srv, "")
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"items":[{"receipt":%q,"dead":true}]}`, m.Receipt)).Want(http.StatusOK).Has(`{"ok":true}`)
	srv.Delete("/v1/queues/q").Want(http.StatusConflict).Has("dead-letter queue").Has("force=true")
}
