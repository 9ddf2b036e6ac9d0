package handlers_test

import (
	"net/http"
	"slices"
	"testing"
)

// topicCalls are all operations on the topic "t", with the actions that allow each.
var topicCalls = []struct {
	method, path, body string
	actions            []string
}{
	{"PUT", "/v1/topics/t", "", []string{"manage"}},
	{"GET", "/v1/topics/t", "", []string{"read"}},
	{"POST", "/v1/topics/t/records", `{"records":[{"value":"x"}]}`, []string{"produce"}},
	{"GET", "/v1/topics/t/partitions/0/records", "", []string{"read", "consume"}},
	{"PUT", "/v1/topics/t/offsets/billing", `{"offsets":{"0":1}}`, []string{"consume"}},
	{"GET", "/v1/topics/t/offsets/billing", "", []string{"consume"}},
	{"DELETE", "/v1/topics/t/partitions/0/records?before=0", "", []string{"manage"}},
	{"DELETE", "/v1/topics/t", "", []string{"manage"}},
}

func TestEveryCallOnATopicNeedsItsScope(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	for _, call := range topicCalls {
		srv.Do(call.method, call.path, call.body).Refused(http.StatusUnauthorized, "unauthenticated", "")
		for _, action := range []string{"produce", "consume", "read", "manage"} {
			answer := srv.Do(call.method, call.path, call.body, caller("", "topics:"+action+":t")...)
			if allowed := answer.Status != http.StatusForbidden; allowed != slices.Contains(call.actions, action) {
				t.Errorf("%s %s with %s = %d", call.method, call.path, action, answer.Status)
			}
			if answer.Status == http.StatusForbidden {
				answer.Has("topics:" + call.actions[0] + ":t")
			}
		}
		srv.Do(call.method, call.path, call.body, caller("", "topics:*:other")...).Refused(http.StatusForbidden, "forbidden", "")
		srv.Do(call.method, call.path, call.body, caller("", "queues:*:t")...).Refused(http.StatusForbidden, "forbidden", "")
	}
}

// TestAScopeMayNameAReader commits under two names with a scope for one of them.
func TestAScopeMayNameAReader(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	srv.Put("/v1/topics/t", "", caller("", "topics:manage:t")...).Want(http.StatusCreated)
	billing := caller("", "topics:consume:t/billing")
	srv.Put("/v1/topics/t/offsets/billing", `{"offsets":{"0":1}}`, billing...).Want(http.StatusOK)
	srv.Put("/v1/topics/t/offsets/audit", `{"offsets":{"0":1}}`, billing...).Refused(http.StatusForbidden, "forbidden", "").Has("topics:consume:t/audit")
	srv.Get("/v1/topics/t/offsets/audit", billing...).Refused(http.StatusForbidden, "forbidden", "")
}

func TestTopicsOfTenantsAreApart(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	ours, theirs := caller("", "topics:*:*"), caller("acme", "topics:*:*")
	srv.Put("/v1/topics/t", "", ours...).Want(http.StatusCreated)
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"ours"}]}`, ours...).Want(http.StatusOK)
	for _, call := range topicCalls[1:] {
		srv.Do(call.method, call.path, call.body, theirs...).Refused(http.StatusNotFound, "not_found", "")
	}
	srv.Get("/v1/topics", theirs...).Want(http.StatusOK).Has(`{"topics":[]}`)
	srv.Put("/v1/topics/t", "", theirs...).Want(http.StatusCreated)
	srv.Get("/v1/topics/t/partitions/0/records", theirs...).Want(http.StatusOK).Has(`"records":[]`)
}
