package rest_test

import (
	"net/http"
	"testing"

	"github.com/dabba-mq/dabba/engine"
)

func TestReleaseGivesBackAllOfAConsumer(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"},{"body":"d"}]}`).Want(http.StatusOK)
	receive(t, srv, `{"max":2,"consumer":"worker-7"}`)
	receive(t, srv, `{"max":1,"consumer":"worker-8"}`)
	receive(t, srv, `{"max":1,"consumer":"worker-7"}`)

	srv.Post("/v1/queues/q/release", `{"consumer":"worker-7"}`).Want(http.StatusOK).Has(`{"released":3}`)
	if got := counts(t, srv); got.Ready != 3 || got.Leased != 1 {
		t.Errorf("counts = %+v, want 3 ready and 1 leased", got)
	}
	srv.Post("/v1/queues/q/release", `{"consumer":"worker-7"}`).Want(http.StatusOK).Has(`{"released":0}`)
	for _, m := range receive(t, srv, `{"max":10}`) {
		if m.Receives != 1 {
			t.Errorf("message %s was received %d times, want 1", *m.Body, m.Receives)
		}
	}

	srv.Post("/v1/queues/q/release", ``).Refused(http.StatusBadRequest, engine.CodeInvalidRequest, "consumer")
	srv.Post("/v1/queues/q/release", `{"consumer":7}`).Refused(http.StatusBadRequest, engine.CodeInvalidRequest, "consumer")
	srv.Post("/v1/queues/none/release", `{"consumer":"x"}`).Refused(http.StatusNotFound, engine.CodeNotFound, "")
}
