package rest_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/rest"
	"github.com/dabba-mq/dabba/memlimit"
)

// stuck is a connection whose client does not read until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	writing, released chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	close(s.writing)
	<-s.released
	return s.ResponseRecorder.Write(p)
}

func TestReadersThatDoNotReadTakeABoundedAmountOfMemory(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Put("/v1/queues/small", "").Want(http.StatusCreated)
	const large = 80 << 10
	for range 2 {
		srv.Post("/v1/queues/q/messages", strings.Repeat("x", large), "Content-Type", "text/plain").Want(http.StatusOK)
	}
	srv.Post("/v1/queues/small/messages", `{"body":"x"}`).Want(http.StatusOK)
	api := rest.New(rest.Config{
		Engine: srv.Engine, Log: slog.New(slog.DiscardHandler), Readiness: new(rest.Readiness), Now: time.Now,
		Exchange: &exchange.Exchange{
			Budget: memlimit.New(5 * large),
			Log:    slog.New(slog.DiscardHandler), Now: time.Now,
		},
	})
	receive := func(w http.ResponseWriter, queue string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/queues/"+queue+"/receive", nil)
		r.SetPathValue("q", queue)
		api.Handle(api.Receive)(w, r)
	}

	slow := stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		receive(slow, "q")
	}()
	<-slow.writing

	refused := httptest.NewRecorder()
	receive(refused, "q")
	if refused.Code != http.StatusServiceUnavailable || refused.Header().Get("Retry-After") != "1" {
		t.Errorf("a receive beyond the budget = %d %s, want 503 and when to come back", refused.Code, refused.Body)
	}
	if got := counts(t, srv); got.Leased != 1 || got.Ready != 1 {
		t.Errorf("counts = %+v, want the refused message ready again", got)
	}
	small := httptest.NewRecorder()
	receive(small, "small")
	if small.Code != http.StatusOK || !strings.Contains(small.Body.String(), `"body":"x"`) {
		t.Errorf("a receive of a small message meanwhile = %d %s", small.Code, small.Body)
	}

	close(slow.released)
	<-done
	again := httptest.NewRecorder()
	receive(again, "q")
	if again.Code != http.StatusOK || !strings.Contains(again.Body.String(), `"receives":1`) {
		t.Errorf("a receive after the slow client had read = %d %.200s", again.Code, again.Body)
	}
	if got := counts(t, srv); got != (engine.Counts{Leased: 2, Bytes: 2 * large}) {
		t.Errorf("counts = %+v, want both leased", got)
	}
}
