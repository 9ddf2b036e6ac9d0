package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestListPagesThroughAllQueues(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("jobs-%d", i)
		want = append(want, name)
		srv.Put("/v1/queues/"+name, "").Want(http.StatusCreated)
	}
	srv.Put("/v1/queues/other", "").Want(http.StatusCreated)

	var got []string
	pages, cursor := 0, ""
	for {
		var page rest.QueueList
		srv.Get("/v1/queues?prefix=jobs-&limit=3&cursor=" + url.QueryEscape(cursor)).Want(http.StatusOK).Decode(&page)
		for _, q := range page.Queues {
			got = append(got, q.Name)
		}
		pages++
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if pages != 3 {
		t.Errorf("%d pages, want 3", pages)
	}
}

func TestListOfNothingIsAnEmptyList(t *testing.T) {
	t.Parallel()
	handlerstest.Start(t).Get("/v1/queues").Want(http.StatusOK).Has(`{"queues":[]}`)
}

func TestListRefusesBadParameters(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/v1/queues?limit=0").Refused(http.StatusBadRequest, "invalid_request", "limit")
	srv.Get("/v1/queues?limit=ten").Refused(http.StatusBadRequest, "invalid_request", "limit")
	srv.Get("/v1/queues?limit=1&limit=2").Refused(http.StatusBadRequest, "invalid_request", "limit")
	srv.Get("/v1/queues?cursor=nonsense!").Refused(http.StatusBadRequest, "invalid_request", "cursor")
	srv.Get("/v1/queues?cursor=bm9uc2Vuc2U").Refused(http.StatusBadRequest, "invalid_request", "cursor")
	srv.Get("/v1/queues?perfix=a").Refused(http.StatusBadRequest, "unknown_field", "perfix")
	srv.Get("/v1/queues?a=%zz").Refused(http.StatusBadRequest, "invalid_request", "")
}
