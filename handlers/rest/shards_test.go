package rest_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// spreading is a store that says it can spread queues, and keeps each in one place all the same: its clients can see no
// more of it than that counts are approximate.
type spreading struct {
	store.Store
	shards uint32 // of the queue that was configured last
}

func (s *spreading) Info() store.Info {
	info := s.Store.Info()
	info.Shards = 8
	return info
}

func (s *spreading) Configure(ctx context.Context, q store.QueueID, settings store.Settings) error {
	s.shards = settings.Shards
	return s.Store.Configure(ctx, q, settings)
}

func (s *spreading) Stats(ctx context.Context, q store.QueueID) (store.Stats, error) {
	stats, err := s.Store.Stats(ctx, q)
	stats.Approximate = s.shards > 1
	return stats, err
}

func startSpreading(t *testing.T) *handlerstest.Server {
	t.Helper()
	s := &spreading{Store: memory.New(memory.Options{Now: time.Now})}
	e, err := engine.Open(t.Context(), s, engine.Options{Now: time.Now, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return handlerstest.Start(t, func(c *handlers.Config) { c.Engine = e })
}

// TestQueuesWithShards: they are created so, stay so, and say wherever their counts are shown that these are approximate.
func TestQueuesWithShards(t *testing.T) {
	t.Parallel()
	srv := startSpreading(t)
	const approximate = `"approximate":true`
	srv.Put("/v1/queues/q", `{"shards":8}`).Want(http.StatusCreated).Has(`"shards":8`).Has(approximate)
	srv.Get("/v1/queues/q").Want(http.StatusOK).Has(approximate)
	srv.Get("/v1/queues").Want(http.StatusOK).Has(approximate)
	srv.Patch("/v1/queues/q", `{"delay":"1s"}`).Want(http.StatusOK).Has(approximate).Has(`"shards":8`)
	for _, other := range []string{`{"shards":4}`, `{"shards":1}`, `{}`} {
		srv.Put("/v1/queues/q", other).Refused(http.StatusConflict, "conflict", "shards").Has("Create another queue and move the messages.")
	}
	srv.Patch("/v1/queues/q", `{"shards":2}`).Refused(http.StatusConflict, "conflict", "shards")
	srv.Patch("/v1/queues/q", `{"limits":{"max_messages":5}}`).Refused(http.StatusBadRequest, "invalid_request", "shards").Has("limits.max_messages")
	for _, bad := range []string{
		`{"shards":9}`, `{"shards":65}`, `{"shards":0}`, `{"shards":2,"fair":true}`, `{"shards":2,"priorities":10}`,
		`{"shards":2,"limits":{"rate":5}}`, `{"shards":2,"limits":{"max_in_flight":5}}`,
	} {
		srv.Put("/v1/queues/bad", bad).Refused(http.StatusBadRequest, "invalid_request", "shards")
	}
	srv.Put("/v1/queues/q.fifo", `{"shards":2,"fifo":true}`).Refused(http.StatusBadRequest, "invalid_request", "shards")
}

// TestQueuesWithoutShards: a store that cannot spread them says so, and their counts are exact.
func TestQueuesWithoutShards(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"shards":1}`)
	if text := string(srv.Get("/v1/queues/q").Want(http.StatusOK).Has(`"shards":1`).Body); strings.Contains(text, "approximate") {
		t.Errorf("GET of a queue without shards says that its counts are approximate: %s", text)
	}
	srv.Put("/v1/queues/other", `{"shards":2}`).Refused(http.StatusBadRequest, "invalid_request", "shards").Has("run the server on Redis")
	srv.Patch("/v1/queues/q", `{"shards":2}`).Refused(http.StatusConflict, "conflict", "shards")
}
