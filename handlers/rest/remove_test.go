package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/dabba-mq/dabba/engine"
)

func TestRemoveTakesMessagesInAnyState(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	dead := sendOne(t, srv, `{"body":"dead"}`)
	leased := sendOne(t, srv, `{"body":"leased"}`)
	delayed := sendOne(t, srv, `{"body":"delayed","delay":"1h"}`)
	got := receive(t, srv, `{"max":2}`)
	ready := sendOne(t, srv, `{"body":"ready"}`)
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"dead":true}`, got[0].Receipt)).Want(http.StatusOK)
	for _, path := range []string{dead, leased, delayed, ready} {
		srv.Delete(path).Want(http.StatusNoContent)
		srv.Delete(path).Refused(http.StatusNotFound, "not_found", "")
	}
	if got := counts(t, srv); got != (engine.Counts{}) {
		t.Errorf("counts = %+v, want none left", got)
	}
	srv.Post("/v1/queues/q/extend", fmt.Sprintf(`{"receipts":[%q],"visibility":"1m"}`, got[1].Receipt)).
		Want(http.StatusOK).Has(`"code":"lease_lost"`)
}
