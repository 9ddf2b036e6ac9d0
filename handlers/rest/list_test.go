package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
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

// TestAFullPageMayBeTheLast asks each list for exactly as many as there are, and for one less: only the latter has another page. The
// cursor is good for the list it came from, with the same parameters.
func TestAFullPageMayBeTheLast(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/a.fifo", `{"fifo":true}`).Want(http.StatusCreated)
	srv.Put("/v1/queues/b", "").Want(http.StatusCreated)
	srv.Put("/v1/queues/c", "").Want(http.StatusCreated)
	srv.Put("/v1/queues/other", "").Want(http.StatusCreated)
	for i := range 3 {
		srv.Put(fmt.Sprintf("/v1/topics/t%d", i), "").Want(http.StatusCreated)
		srv.Put(fmt.Sprintf("/v1/queues/b/schedules/s%d", i), `{"cron":"@daily","message":{"body":"x"}}`).Want(http.StatusCreated)
		srv.Post("/v1/queues/a.fifo/messages", fmt.Sprintf(`{"body":"x","group":"g%d","dedup_id":"%d"}`, i, i)).Want(http.StatusOK)
		srv.Post("/v1/queues/b/redrive", `{"to":"c"}`).Want(http.StatusAccepted)
	}
	srv.Post("/v1/queues/c/messages", `{"messages":[{"body":"x1"},{"body":"x2"},{"body":"x3"}]}`).Want(http.StatusOK)
	srv.Delete("/v1/queues/other").Want(http.StatusNoContent)
	cursors := map[string]string{}
	for _, list := range []string{
		"/v1/queues", "/v1/queues?prefix=", "/v1/topics?prefix=t", "/v1/tasks", "/v1/queues/b/schedules", "/v1/queues/a.fifo/groups",
		"/v1/queues/c/messages?contains=x", "/v1/queues/a.fifo/messages",
	} {
		sep := "?"
		if strings.Contains(list, "?") {
			sep = "&"
		}
		srv.Get(list + sep + "limit=3").Want(http.StatusOK).Lacks(`"cursor"`)
		var page struct {
			Cursor string `json:"cursor"`
		}
		srv.Get(list + sep + "limit=2").Want(http.StatusOK).Decode(&page)
		if page.Cursor == "" {
			t.Fatalf("%s: no cursor after two of three", list)
		}
		srv.Get(list + sep + "limit=1&cursor=" + page.Cursor).Want(http.StatusOK).Lacks(`"cursor"`)
		cursors[list] = page.Cursor
	}
	for from, cursor := range cursors {
		for list := range cursors {
			sep := "?"
			if strings.Contains(list, "?") {
				sep = "&"
			}
			if list != from {
				srv.Get(list+sep+"cursor="+cursor).Refused(http.StatusBadRequest, "invalid_request", "cursor")
			}
		}
	}
	srv.Get("/v1/queues?prefix=b&cursor="+cursors["/v1/queues"]).Refused(http.StatusBadRequest, "invalid_request", "cursor").Has("another prefix")
	srv.Get("/v1/queues/c/messages?contains=y&cursor="+cursors["/v1/queues/c/messages?contains=x"]).Refused(http.StatusBadRequest, "invalid_request", "cursor")
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
