package rest_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPurge(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		purged string
		left   []string
	}{
		``:                               {`{"purged":4}`, []string{}},
		`{}`:                             {`{"purged":4}`, []string{}},
		`{"state":"ready"}`:              {`{"purged":2}`, []string{"leased", "delayed"}},
		`{"state":"leased"}`:             {`{"purged":1}`, []string{"ready", "other", "delayed"}},
		`{"state":"ready,delayed"}`:      {`{"purged":3}`, []string{"leased"}},
		`{"state":"dead"}`:               {`{"purged":0}`, []string{"leased", "ready", "other", "delayed"}},
		`{"group":"g"}`:                  {`{"purged":1}`, []string{"leased", "ready", "delayed"}},
		`{"group":""}`:                   {`{"purged":3}`, []string{"other"}},
		`{"group":"g","state":"dead"}`:   {`{"purged":0}`, []string{"leased", "ready", "other", "delayed"}},
		`{"older_than":"1h"}`:            {`{"purged":0}`, []string{"leased", "ready", "other", "delayed"}},
		`{"group":"g","older_than":0}`:   {`{"purged":1}`, []string{"leased", "ready", "delayed"}},
		`{"older_than":0}`:               {`{"purged":3}`, []string{"delayed"}},
		`{"older_than":null,"group":""}`: {`{"purged":3}`, []string{"other"}},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"leased"},{"body":"ready"},{"body":"other","group":"g"},{"body":"delayed","delay":"1h"}]}`).
				Want(http.StatusOK)
			one(t, srv, "")
			srv.Post("/v1/queues/q/purge", body).Want(http.StatusOK).Has(want.purged)
			if diff := cmp.Diff(want.left, bodies(browse(t, srv, ""))); diff != "" {
				t.Errorf("messages left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPurgeRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for body, field := range map[string]string{
		`{"state":"lost"}`:      "state",
		`{"state":""}`:          "state",
		`{"state":["dead"]}`:    "state",
		`{"older_than":"-1s"}`:  "older_than",
		`{"older_than":"long"}`: "older_than",
	} {
		srv.Post("/v1/queues/q/purge", body).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Post("/v1/queues/q/purge", `{"contains":"x"}`).Refused(http.StatusBadRequest, "unknown_field", "contains")
	srv.Post("/v1/queues/none/purge", "").Refused(http.StatusNotFound, "not_found", "")
}
