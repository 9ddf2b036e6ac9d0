package rest_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestPausedSendsAreToldWhenToRepeat(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/pause", "").Want(http.StatusOK).Has(`"paused":{"produce":true,"consume":true}`)
	refused := srv.Post("/v1/queues/q/messages", `{"body":"x"}`)
	refused.Refused(http.StatusTooManyRequests, "paused", "")
	if got := refused.Header.Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After of a pause without an end = %q, want 30", got)
	}

	srv.Post("/v1/queues/q/pause", `{"produce":true,"until":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`).Want(http.StatusOK).Has(`"produce_until":`)
	refused = srv.Post("/v1/queues/q/messages", `{"body":"x"}`)
	refused.Refused(http.StatusTooManyRequests, "paused", "")
	if s, err := strconv.Atoi(refused.Header.Get("Retry-After")); err != nil || s < 3500 || s > 3600 {
		t.Errorf("Retry-After of a pause for an hour = %q, want the seconds that are left", refused.Header.Get("Retry-After"))
	}

	srv.Post("/v1/queues/q/resume", `{"produce":true}`).Want(http.StatusOK).Has(`"paused":{"produce":false,"consume":true}`)
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
	if got := receive(t, srv, ""); len(got) != 0 {
		t.Errorf("a queue that is paused for receives gave %d messages", len(got))
	}
	var q rest.Queue
	srv.Post("/v1/queues/q/resume", "").Want(http.StatusOK).Decode(&q)
	if q.Paused != nil {
		t.Errorf("paused after a resume of all = %+v, want none", q.Paused)
	}
	one(t, srv, "")
}

func TestReceivesGoOnAtOnceWhenResumed(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/pause", `{"consume":true}`).Want(http.StatusOK)
	answered := make(chan rest.ReceiveAnswer, 1)
	go func() {
		var got rest.ReceiveAnswer
		defer func() { answered <- got }()
		srv.Post("/v1/queues/q/receive?wait=1m", "").Decode(&got)
	}()
	eventually(t, "a receive that waits", func() bool { return waiting(t, srv) == 1 })
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`).Want(http.StatusOK)
	srv.Post("/v1/queues/q/resume", "").Want(http.StatusOK)
	if got := <-answered; len(got.Messages) != 1 {
		t.Errorf("a receive that waited for the resume got %d messages, want 1", len(got.Messages))
	}
}

func TestPauseRefuses(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/pause", `{"produce":false}`).Refused(http.StatusBadRequest, "invalid_request", "produce")
	srv.Post("/v1/queues/q/resume", `{"produce":false,"consume":false}`).Refused(http.StatusBadRequest, "invalid_request", "produce")
	srv.Post("/v1/queues/q/pause", `{"until":"2020-01-01T00:00:00Z"}`).Refused(http.StatusBadRequest, "invalid_request", "until")
	noTime := srv.Post("/v1/queues/q/pause", `{"until":"tomorrow"}`)
	noTime.Refused(http.StatusBadRequest, "invalid_request", "until")
	noTime.Has("must be a time such as")
	srv.Post("/v1/queues/q/resume", `{"until":"2030-01-01T00:00:00Z"}`).Refused(http.StatusBadRequest, "unknown_field", "until")
	srv.Post("/v1/queues/none/pause", "").Refused(http.StatusNotFound, "not_found", "")
	srv.Post("/v1/queues/none/resume", "").Refused(http.StatusNotFound, "not_found", "")
}

func TestNumbersOfAQueue(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	got := one(t, srv, "")
	srv.Post("/v1/queues/q/ack", `{"receipts":["`+got.Receipt+`"]}`).Want(http.StatusOK)
	var q rest.Queue
	srv.Get("/v1/queues/q").Want(http.StatusOK).Decode(&q)
	if r := q.Rates; r.In <= 0 || r.In > 2 || r.Out <= 0 || r.Out > 1 || r.Acked <= 0 || r.Acked > 1 {
		t.Errorf("rates after 2 sends, 1 receive and 1 ack = %+v", r)
	}
	if w := q.WaitTime; w.Count != 1 || w.P50 == nil || *w.P99 < *w.P50 || time.Duration(*w.P99) > time.Minute {
		t.Errorf("wait time after one delivery = %+v", w)
	}
	if q.DrainSeconds != nil || q.Dropped != 0 || q.Expired != 0 {
		t.Errorf("a queue that fills: drain %v, dropped %d, expired %d, want null, 0, 0", *q.DrainSeconds, q.Dropped, q.Expired)
	}

	srv.Put("/v1/queues/small", `{"limits":{"max_messages":1,"overflow":"drop_newest"}}`).Want(http.StatusCreated)
	for range 3 {
		srv.Post("/v1/queues/small/messages", `{"body":"x"}`).Want(http.StatusOK)
	}
	srv.Get("/v1/queues/small").Want(http.StatusOK).Has(`"dropped":2`)
}
