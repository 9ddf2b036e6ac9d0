package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

const fifo = "/v1/queues/q.fifo"

// withGroups starts a server that has a FIFO queue "q.fifo" with two messages in each of the groups: 1 and 2.
func withGroups(tb testing.TB, config string, groups ...string) *handlerstest.Server {
	tb.Helper()
	srv := handlerstest.Start(tb)
	srv.Put(fifo, config).Want(http.StatusCreated)
	for _, group := range groups {
		name, err := json.Marshal(group)
		if err != nil {
			tb.Fatal(err)
		}
		srv.Post(fifo+"/messages", fmt.Sprintf(`{"messages":[{"body":"1","group":%s},{"body":"2","group":%s}]}`, name, name)).Want(http.StatusOK)
	}
	return srv
}

// groups returns the groups of "q.fifo", page by page.
func groups(tb testing.TB, srv *handlerstest.Server, query string) []rest.Group {
	tb.Helper()
	var all []rest.Group
	for cursor := ""; ; {
		var page rest.GroupList
		srv.Get(fifo + "/groups?" + query + "&cursor=" + url.QueryEscape(cursor)).Want(http.StatusOK).Decode(&page)
		all = append(all, page.Groups...)
		if cursor = page.Cursor; cursor == "" {
			return all
		}
	}
}

// odd are names of groups that are hard to put in a path.
var odd = []string{"", "%00", "%2F", "-", ".", "..", "/", "//", "100%", "a b", "a%20b", "a+b", "a/b", "a?b#c", "skip", "ünï/cødé ☂"}

// inPath is a group as part of a path.
func inPath(group string) string {
	switch group {
	case "":
		return "%00"
	case ".", "..": // clients take these for steps on the path
		return "%2E" + url.PathEscape(group[1:])
	}
	return url.PathEscape(group)
}

func TestGroupsAreListedByName(t *testing.T) {
	t.Parallel()
	srv := withGroups(t, `{"fifo":true}`, odd...)
	for _, query := range []string{"", "limit=1", "limit=5"} {
		var names []string
		for _, g := range groups(t, srv, query) {
			names = append(names, g.Name)
			if g.Depth != 2 || g.Counts != (rest.GroupCounts{Ready: 2}) || g.Head == nil || g.HeadAge == nil || !g.LockedUntil.IsZero() {
				t.Errorf("group %q = %+v", g.Name, g)
			}
		}
		if diff := cmp.Diff(odd, names); diff != "" {
			t.Errorf("groups with %q (-want +got):\n%s", query, diff)
		}
	}
}

func TestGroupsTellUntilWhenTheyAreLocked(t *testing.T) {
	t.Parallel()
	srv := withGroups(t, `{"fifo":true}`, "g")
	var got rest.ReceiveAnswer
	srv.Post(fifo+"/receive", `{"max":10}`).Want(http.StatusOK).Decode(&got)
	all := groups(t, srv, "")
	if len(all) != 1 {
		t.Fatalf("groups = %+v, want one", all)
	}
	g := all[0]
	if g.Counts != (rest.GroupCounts{Leased: 2}) || g.HeadAge != nil || g.Head == nil || *g.Head != got.Messages[0].ID ||
		!time.Time(g.LockedUntil).Equal(got.Messages[0].Lease.ExpiresAt) {
		t.Errorf("locked group = %+v, want one locked until %v by %s", g, got.Messages[0].Lease.ExpiresAt, got.Messages[0].ID)
	}
}

func TestGroupsWithOddNamesAreAddressed(t *testing.T) {
	t.Parallel()
	for _, name := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := withGroups(t, `{"fifo":true}`, odd...)
			path := fifo + "/groups/" + inPath(name)
			var skipped rest.SkipAnswer
			srv.Post(path+"/skip", "").Want(http.StatusOK).Decode(&skipped)
			if skipped.Skipped == nil {
				t.Fatal("skip took nothing")
			}
			for _, g := range groups(t, srv, "") {
				if want := int64(2); g.Name != name && g.Depth != want || g.Name == name && g.Depth != want-1 {
					t.Errorf("depth of %q = %d after skipping in %q", g.Name, g.Depth, name)
				}
			}
			srv.Post(path+"/dead-letter", `{"reason":"no use"}`).Want(http.StatusOK).Has(`{"dead_lettered":1}`)
			srv.Post(path+"/skip", "").Want(http.StatusOK).Has(`{"skipped":null}`)
			srv.Post(path+"/purge", "").Want(http.StatusOK).Has(`{"purged":1}`)
			srv.Post(path+"/purge", "").Want(http.StatusOK).Has(`{"purged":0}`)
			if got := len(groups(t, srv, "")); got != len(odd)-1 {
				t.Errorf("there are %d groups left, want %d", got, len(odd)-1)
			}
		})
	}
}

func TestDeadLettersOfAGroupMove(t *testing.T) {
	t.Parallel()
	srv := withGroups(t, `{"fifo":true,"dead_letter":{"queue":"q"}}`, "g", "h")
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	srv.Post(fifo+"/receive", `{"max":1}`).Want(http.StatusOK)
	srv.Post(fifo+"/groups/g/dead-letter", `{"reason":"customer is gone"}`).Want(http.StatusOK).Has(`{"dead_lettered":2}`)
	dead := browse(t, srv, "")
	if len(dead) != 2 || dead[0].Origin == nil || dead[0].Origin.Reason != "customer is gone" || dead[0].Group != "g" {
		t.Errorf("dead letters = %+v", dead)
	}
	srv.Post(fifo+"/groups/g/dead-letter", "").Want(http.StatusOK).Has(`{"dead_lettered":0}`)
	if left := groups(t, srv, ""); len(left) != 1 || left[0].Name != "h" {
		t.Errorf("groups left = %+v, want h", left)
	}
}

func TestOtherQueuesDoNotKnowGroups(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Get("/v1/queues/q/groups").Refused(http.StatusConflict, "conflict", "").Has("FIFO or fair")
	for _, verb := range []string{"skip", "dead-letter", "purge"} {
		srv.Post("/v1/queues/q/groups/g/"+verb, "").Refused(http.StatusConflict, "conflict", "")
		srv.Post("/v1/queues/none/groups/g/"+verb, "").Refused(http.StatusNotFound, "not_found", "")
		srv.Post("/v1/queues/q/groups/g/"+verb, `{"x":1}`).Refused(http.StatusBadRequest, "unknown_field", "x")
	}
	srv.Patch("/v1/queues/q", `{"fair":true}`).Want(http.StatusOK)
	srv.Post("/v1/queues/q/messages", `{"body":"x","group":"g"}`).Want(http.StatusOK)
	srv.Get("/v1/queues/q/groups").Want(http.StatusOK).Has(`"name":"g"`)
	srv.Get("/v1/queues/q/groups?cursor=x").Refused(http.StatusBadRequest, "invalid_request", "cursor")
	srv.Get("/v1/queues/q/groups?prefix=x").Refused(http.StatusBadRequest, "unknown_field", "prefix")
}

// TestNoGroupHasAnOverlongName asks for groups that cannot be: sends refuse such names.
func TestNoGroupHasAnOverlongName(t *testing.T) {
	t.Parallel()
	srv := withGroups(t, `{"fifo":true}`, "a")
	for _, n := range []int{engine.MaxIDBytes, engine.MaxIDBytes + 1, 5000} {
		group := fifo + "/groups/" + strings.Repeat("b", n)
		srv.Post(group+"/skip", "").Want(http.StatusOK).Has(`{"skipped":null}`)
		srv.Post(group+"/dead-letter", "").Want(http.StatusOK).Has(`{"dead_lettered":0}`)
		srv.Post(group+"/purge", "").Want(http.StatusOK).Has(`{"purged":0}`)
	}
}
