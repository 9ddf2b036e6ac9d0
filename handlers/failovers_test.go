package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/metrics"
)

func TestInfoTellsOfFailovers(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	if body := srv.Get("/v1/info").Want(http.StatusOK).Body; strings.Contains(string(body), "failovers") {
		t.Errorf("a store that cannot fail over: %s", body)
	}
	count := srv.Config.Metrics
	count.CanFailOver()
	srv.Get("/v1/info").Want(http.StatusOK).Has(`"failovers":{"count":0,"lost":{"send":0,`)
	count.FailedOver(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC))
	count.Lose(metrics.Lost{Sends: 1, Receives: 2, Settles: 3, Appends: 4, Catalog: 5, Others: 6}, true)
	srv.Get("/v1/info").Want(http.StatusOK).Has(`"failovers":{"count":1,"last_at":"2026-11-30T03:00:00.000Z",` +
		`"lost":{"send":1,"receive":2,"settle":3,"append":4,"catalog":5,"other":6},"partial":true}`)
}

func TestReadinessSaysWhatIsPromised(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/readyz").Want(http.StatusOK).Has(`{"status":"ready","store":"memory","promise":"` + srv.Store.Info().Promise)
}
