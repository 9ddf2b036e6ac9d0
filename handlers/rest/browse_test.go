package rest_test

import (
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

// browse returns the messages of "q" that a query finds, page by page.
func browse(tb testing.TB, srv *handlerstest.Server, query string) []rest.BrowsedMessage {
	tb.Helper()
	var all []rest.BrowsedMessage
	for cursor := ""; ; {
		var page rest.BrowseAnswer
		srv.Get("/v1/queues/q/messages?" + query + "&cursor=" + url.QueryEscape(cursor)).Want(http.StatusOK).Decode(&page)
		all = append(all, page.Messages...)
		if cursor = page.Cursor; cursor == "" {
			return all
		}
	}
}

func bodies(messages []rest.BrowsedMessage) []string {
	all := []string{}
	for _, m := range messages {
		if m.Body != nil {
			all = append(all, *m.Body)
		} else {
			all = append(all, fmt.Sprintf("%x", m.BodyBase64))
		}
	}
	return all
}

func TestBrowseShowsMessagesInAnyState(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	var sent rest.SendManyAnswer
	srv.Post("/v1/queues/q/messages", `{"messages":[
		{"body":"dead","attributes":{"color":"red"}},
		{"body_base64":"/wA=","group":"g","priority":0,"ttl":"1h"},
		{"body":"later","delay":"1h"},
		{"body":"now","attributes":{"n":{"type":"Number","value":"12"}}}]}`).Want(http.StatusOK).Decode(&sent)
	got := receive(t, srv, `{"max":2,"consumer":"worker-7"}`)
	srv.Post("/v1/queues/q/nack", fmt.Sprintf(`{"receipts":[%q],"dead":true,"reason":"no use"}`, got[0].Receipt)).Want(http.StatusOK)
	before := counts(t, srv)

	all := browse(t, srv, "")
	if len(all) != 4 {
		t.Fatalf("browse = %d messages, want 4", len(all))
	}
	dead, leased, delayed, ready := all[0], all[1], all[2], all[3]
	for i, m := range all {
		if m.ID != sent.Results[i].ID {
			t.Errorf("message %d has id %s, want %s", i, m.ID, sent.Results[i].ID)
		}
		if age := time.Since(time.Time(m.SentAt)); age < -time.Second || age > time.Minute {
			t.Errorf("message %d was sent %v ago", i, age)
		}
	}
	if dead.State != engine.StateDead || dead.Reason != "no use" || dead.Receives != 1 || *dead.Body != "dead" || dead.Size != int64(len("deadcolorred")) {
		t.Errorf("dead message = %+v", dead)
	}
	if l := leased.Lease; leased.State != engine.StateLeased || l == nil || l.Consumer != "worker-7" || l.Token != got[1].Lease.Token ||
		!time.Time(l.ExpiresAt).Equal(got[1].Lease.ExpiresAt) || time.Time(l.LeasedAt).IsZero() {
		t.Errorf("leased message = %+v with %+v, want the lease of %+v", leased, l, got[1].Lease)
	}
	if leased.Body != nil || string(leased.BodyBase64) != "\xff\x00" || leased.Group != "g" || leased.ExpiresAt.IsZero() {
		t.Errorf("leased message = %+v, want bytes, a group and an end", leased)
	}
	if in := time.Until(time.Time(delayed.Due)); delayed.State != engine.StateDelayed || in < 59*time.Minute || in > time.Hour || !delayed.AvailableAt.IsZero() {
		t.Errorf("delayed message = %+v, due in %v", delayed, in)
	}
	if ready.State != engine.StateReady || time.Time(ready.AvailableAt).Before(time.Time(ready.SentAt)) || !ready.Due.IsZero() || ready.Lease != nil || ready.Receives != 0 {
		t.Errorf("ready message = %+v", ready)
	}
	if diff := cmp.Diff(before, counts(t, srv)); diff != "" {
		t.Errorf("counts after browsing (-before +after):\n%s", diff)
	}
}

func TestBrowseSearches(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[
		{"body":"tea for two","attributes":{"color":"red","a.b":"x"},"group":"g/1"},
		{"body":"tea","attributes":{"color":"green"},"delay":"1h"},
		{"body":"naïve %41 & co","group":"g/1"},
		{"body_base64":"/wD+","attributes":{"color":"red"}}]}`).Want(http.StatusOK)
	for query, want := range map[string][]string{
		"contains=tea":                        {"tea for two", "tea"},
		"contains=tea&state=ready":            {"tea for two"},
		"state=delayed":                       {"tea"},
		"state=delayed,leased":                {"tea"},
		"state=dead":                          {},
		"group=g%2F1":                         {"tea for two", "naïve %41 & co"},
		"group=":                              {"tea", "ff00fe"},
		"attribute.color=red":                 {"tea for two", "ff00fe"},
		"attribute.color=red&attribute.a.b=x": {"tea for two"},
		"attribute.color=re":                  {},
		"contains=na%C3%AFve+%2541":           {"naïve %41 & co"},
		"contains=%00%FE":                     {"ff00fe"},
		"contains=TEA":                        {},
		"contains=tea&attribute.color=green&limit=1": {"tea"},
		"limit=1": {"tea for two", "tea", "naïve %41 & co", "ff00fe"},
		"limit=3&contains=e&state=ready&group=g%2F1":      {"tea for two", "naïve %41 & co"},
		"contains=" + url.QueryEscape("for two and more"): {},
	} {
		if diff := cmp.Diff(want, bodies(browse(t, srv, query))); diff != "" {
			t.Errorf("browse %s (-want +got):\n%s", query, diff)
		}
	}
}

func TestBrowseTellsHowFarItLooked(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`).Want(http.StatusOK)
	srv.Get("/v1/queues/q/messages?contains=x").Want(http.StatusOK).Has(`{"messages":[],"scanned":3}`)
	srv.Get("/v1/queues/q/messages?limit=2").Want(http.StatusOK).Has(`"scanned":2`).Has(`"cursor":"`)
}

func TestBrowseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Put("/v1/queues/other", "").Want(http.StatusCreated)
	srv.Post("/v1/queues/other/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	var page rest.BrowseAnswer
	srv.Get("/v1/queues/other/messages?limit=1").Want(http.StatusOK).Decode(&page)
	for query, field := range map[string]string{
		"state=lost":            "state",
		"state=removed":         "state",
		"limit=0":               "limit",
		"limit=1001":            "limit",
		"limit=many":            "limit",
		"cursor=x":              "cursor",
		"cursor=AQ":             "cursor",
		"cursor=" + page.Cursor: "cursor",
		"contains=a&contains=b": "contains",
		"contains=" + strings.Repeat("x", 64<<10+1): "contains",
	} {
		answer := srv.Get("/v1/queues/q/messages?" + query)
		if field == "" {
			answer.Want(http.StatusOK)
			continue
		}
		answer.Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Get("/v1/queues/q/messages?attribute=x").Refused(http.StatusBadRequest, "unknown_field", "attribute")
	srv.Get("/v1/queues/q/messages?attribute.=x").Refused(http.StatusBadRequest, "unknown_field", "attribute.")
	srv.Get("/v1/queues/none/messages").Refused(http.StatusNotFound, "not_found", "")
}
