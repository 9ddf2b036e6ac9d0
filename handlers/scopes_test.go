package handlers_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// withKeys starts a server that wants tokens, and returns what issues them: the headers of a caller with a tenant and
// scopes.
func withKeys(t *testing.T) (*handlerstest.Server, func(tenant, scope string) []string) {
	t.Helper()
	keys, err := auth.ParseKeys([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.New(t.Context(), auth.Config{Keys: keys, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	srv := handlerstest.Start(t, func(c *handlers.Config) { c.Verifier = verifier })
	return srv, func(tenant, scope string) []string {
		token, err := auth.Issue(keys[0], auth.Grant{Subject: "tester", Tenant: tenant, Scope: scope, TTL: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return []string{"Authorization", "Bearer " + token}
	}
}

// calls are all operations on the queue "q", with the action that each needs.
var calls = []struct{ method, path, body, action string }{
	{"PUT", "/v1/queues/q", "", "manage"},
	{"PATCH", "/v1/queues/q", "", "manage"},
	{"GET", "/v1/queues/q", "", "read"},
	{"POST", "/v1/queues/q/pause", `{"consume":true}`, "manage"},
	{"POST", "/v1/queues/q/resume", "", "manage"},
	{"POST", "/v1/queues/q/messages", `{"body":"x"}`, "send"},
	{"POST", "/v1/queues/q/receive", "", "receive"},
	{"POST", "/v1/queues/q/ack", `{"receipts":["x"]}`, "receive"},
	{"POST", "/v1/queues/q/nack", `{"receipts":["x"]}`, "receive"},
	{"POST", "/v1/queues/q/extend", `{"receipts":["x"],"visibility":"1s"}`, "receive"},
	{"DELETE", "/v1/queues/q/messages/x", "", "receive"},
	{"POST", "/v1/queues/q/release", `{"consumer":"x"}`, "receive"},
	{"GET", "/v1/queues/q/messages", "", "read"},
	{"GET", "/v1/queues/q/messages/id/0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21", "", "read"},
	{"PATCH", "/v1/queues/q/messages/id/0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21", "", "manage"},
	{"DELETE", "/v1/queues/q/messages/id/0e4f7a52-5f0c-8d1e-93a4-6c0e1c8f7b21", "", "manage"},
	{"GET", "/v1/queues/q/groups", "", "read"},
	{"POST", "/v1/queues/q/groups/x/skip", "", "manage"},
	{"POST", "/v1/queues/q/groups/x/dead-letter", "", "manage"},
	{"POST", "/v1/queues/q/groups/x/purge", "", "manage"},
	{"POST", "/v1/queues/q/purge", "", "manage"},
	{"GET", "/v1/queues/q/schedules", "", "read"},
	{"GET", "/v1/queues/q/schedules/x", "", "read"},
	{"DELETE", "/v1/queues/q/schedules/x", "", "manage"},
	{"DELETE", "/v1/queues/q?force=true", "", "manage"},
}

func TestEveryCallNeedsItsScope(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	for _, call := range calls {
		refused := srv.Do(call.method, call.path, call.body)
		refused.Refused(http.StatusUnauthorized, "unauthenticated", "")
		if got := refused.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
			t.Errorf("%s %s without a token: WWW-Authenticate = %q, want a Bearer challenge", call.method, call.path, got)
		}
		scope := "queues:" + call.action + ":q"
		for _, action := range []string{"send", "receive", "read", "manage"} {
			answer := srv.Do(call.method, call.path, call.body, caller("", "queues:"+action+":q")...)
			if allowed := answer.Status != http.StatusForbidden; allowed != (action == call.action) {
				t.Errorf("%s %s with %s = %d", call.method, call.path, action, answer.Status)
			}
			if action != call.action {
				answer.Refused(http.StatusForbidden, "forbidden", "").Has(scope)
			}
		}
		srv.Do(call.method, call.path, call.body, caller("", "queues:"+call.action+":other")...).Refused(http.StatusForbidden, "forbidden", "")
	}
}

// TestAScheduleNeedsWhatItsSendsNeed has callers that may look after a queue but not send to it, and the other way round.
func TestAScheduleNeedsWhatItsSendsNeed(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	srv.Put("/v1/queues/q", "", caller("", "queues:manage:q")...).Want(http.StatusCreated)
	const path, body = "/v1/queues/q/schedules/x", `{"cron":"@daily","message":{"body":"x"}}`
	srv.Put(path, body).Refused(http.StatusUnauthorized, "unauthenticated", "")
	srv.Put(path, body, caller("", "queues:manage:q")...).Refused(http.StatusForbidden, "forbidden", "").Has("queues:send:q")
	srv.Put(path, body, caller("", "queues:send:q")...).Refused(http.StatusForbidden, "forbidden", "").Has("queues:manage:q")
	srv.Put(path, body, caller("", "queues:send:q queues:manage:q")...).Want(http.StatusCreated)
}

// TestPagesShowWhatMayBeRead: pages are full of what may be read, and a cursor names nothing else.
func TestPagesShowWhatMayBeRead(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	owner, reader := caller("", "admin:*:*"), caller("", "queues:read:a* queues:read:z* topics:read:a* topics:read:z*")
	for _, kind := range []string{"queues", "topics"} {
		for _, name := range []string{"a1", "m1", "m2", "m3", "z1", "z2"} {
			srv.Put("/v1/"+kind+"/"+name, "", owner...).Want(http.StatusCreated)
		}
		var names []string
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			type named struct {
				Name string `json:"name"`
			}
			var page struct {
				Queues []named `json:"queues"`
				Topics []named `json:"topics"`
				Cursor string  `json:"cursor"`
			}
			srv.Get("/v1/"+kind+"?limit=2&cursor="+cursor, reader...).Want(http.StatusOK).Decode(&page)
			for _, q := range append(page.Queues, page.Topics...) {
				names = append(names, q.Name)
			}
			cursor = page.Cursor
			if text, _ := base64.RawURLEncoding.DecodeString(cursor); len(text) > 5 && text[5] == 'm' {
				t.Errorf("the cursor %q names a hidden one", text)
			}
		}
		if diff := cmp.Diff([]string{"a1", "z1", "z2"}, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestATargetNeedsSend: whoever names the queue "b" as the target of dead letters must be allowed to send to it. A target
// that the queue has already may stay.
func TestATargetNeedsSend(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	owner := caller("", "admin:*:*")
	srv.Put("/v1/queues/b", `{"dead_letter":{"allow_from":["a"]}}`, owner...).Want(http.StatusCreated)
	mine, sender := caller("", "queues:*:a"), caller("", "queues:*:a queues:send:b")
	const named = `{"dead_letter":{"queue":"b"},"retry":{"max_receives":1}}`
	for _, target := range []string{"b", "absent"} { // 403 for both, so that names cannot be tried out
		body := strings.ReplaceAll(named, `"b"`, `"`+target+`"`)
		srv.Put("/v1/queues/a", body, mine...).Refused(http.StatusForbidden, "forbidden", "").Has("queues:send:" + target)
	}
	srv.Get("/v1/queues/a", owner...).Refused(http.StatusNotFound, "not_found", "")
	srv.Put("/v1/queues/a", "", mine...).Want(http.StatusCreated)
	srv.Put("/v1/queues/a", named, mine...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Patch("/v1/queues/a", named, mine...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Get("/v1/queues/a", owner...).Lacks(`"queue":"b"`)

	srv.Patch("/v1/queues/a", named, sender...).Want(http.StatusOK).Has(`"queue":"b"`)
	srv.Patch("/v1/queues/a", `{"visibility":"1m"}`, mine...).Want(http.StatusOK).Has(`"queue":"b"`)
	srv.Put("/v1/queues/a", named, mine...).Want(http.StatusOK).Has(`"queue":"b"`)
	srv.Patch("/v1/queues/a", `{"dead_letter":null}`, mine...).Want(http.StatusOK).Lacks(`"queue":"b"`)
	srv.Patch("/v1/queues/a", named, mine...).Refused(http.StatusForbidden, "forbidden", "")
}

// TestARefusedDeleteNamesNoOtherQueue: a queue that somebody may not read keeps another one from being deleted.
func TestARefusedDeleteNamesNoOtherQueue(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	owner := caller("", "admin:*:*")
	srv.Put("/v1/queues/b", "", owner...).Want(http.StatusCreated)
	srv.Put("/v1/queues/secret", `{"dead_letter":{"queue":"b"}}`, owner...).Want(http.StatusCreated)
	srv.Delete("/v1/queues/b", caller("", "queues:*:b")...).Refused(http.StatusConflict, "conflict", "").
		Lacks("secret").Has("Another queue names it")
	srv.Delete("/v1/queues/b", owner...).Refused(http.StatusConflict, "conflict", "").Has("Queue secret names it")
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	ours, theirs := caller("", "queues:*:*"), caller("acme", "queues:*:*")
	srv.Put("/v1/queues/q", "", ours...).Want(http.StatusCreated)
	srv.Post("/v1/queues/q/messages", `{"body":"ours"}`, ours...).Want(http.StatusOK)

	for _, call := range calls[1:] {
		answer := srv.Do(call.method, call.path, call.body, theirs...)
		answer.Refused(http.StatusNotFound, "not_found", "")
	}
	srv.Get("/v1/queues", theirs...).Want(http.StatusOK).Has(`{"queues":[]}`)
	srv.Put("/v1/queues/q", "", theirs...).Want(http.StatusCreated).Has(`"ready":0`)
}

func TestListShowsWhatMayBeRead(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	for _, name := range []string{"a-1", "a-2", "b-1"} {
		srv.Put("/v1/queues/"+name, "", caller("", "queues:manage:*")...).Want(http.StatusCreated)
	}
	var page rest.QueueList
	srv.Get("/v1/queues", caller("", "queues:read:a-*")...).Want(http.StatusOK).Decode(&page)
	var names []string
	for _, q := range page.Queues {
		names = append(names, q.Name)
	}
	if diff := cmp.Diff([]string{"a-1", "a-2"}, names); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
}

func TestOnlyAdminsScrape(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	srv.Get("/metrics").Refused(http.StatusUnauthorized, "unauthenticated", "")
	srv.Get("/metrics", caller("", "queues:*:*")...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Get("/metrics", caller("rival", "admin:*:*")...).Refused(http.StatusForbidden, "forbidden", "")
	srv.Get("/metrics", caller("", "admin:*:*")...).Want(http.StatusOK).Has("dabba_waiting_receives")
}

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	srv.Get("/v1/whoami").Refused(http.StatusUnauthorized, "unauthenticated", "")
	srv.Get("/v1/info").Refused(http.StatusUnauthorized, "unauthenticated", "")

	var me rest.Identity
	srv.Get("/v1/whoami", caller("acme", "queues:send:orders-* topics:*:*")...).Want(http.StatusOK).Decode(&me)
	if me.Tenant != "acme" || me.Subject != "tester" || len(me.Scopes) != 2 || me.ExpiresAt == nil || time.Until(*me.ExpiresAt) > time.Hour {
		t.Errorf("whoami = %+v", me)
	}

	open := handlerstest.Start(t)
	var anyone rest.Identity
	open.Get("/v1/whoami").Want(http.StatusOK).Decode(&anyone)
	if anyone.Tenant != "default" || anyone.ExpiresAt != nil {
		t.Errorf("whoami without keys = %+v, want tenant default and no end", anyone)
	}
}

func TestPagesNeedNoToken(t *testing.T) {
	t.Parallel()
	srv, _ := withKeys(t)
	for _, path := range []string{"/", "/docs", "/openapi.json", "/healthz", "/readyz"} {
		srv.Get(path).Want(http.StatusOK)
	}
}

func TestReceivingFromManyNeedsTheScopeOfEach(t *testing.T) {
	t.Parallel()
	srv, caller := withKeys(t)
	srv.Put("/v1/queues/a", "", caller("", "queues:manage:*")...).Want(http.StatusCreated)
	const both = `{"queues":["a","b"]}`
	srv.Post("/v1/receive", both).Refused(http.StatusUnauthorized, "unauthenticated", "")
	srv.Post("/v1/receive", both, caller("", "queues:receive:a queues:send:b")...).Refused(http.StatusForbidden, "forbidden", "").Has("queues:receive:b")
	srv.Post("/v1/receive", both, caller("", "queues:receive:*")...).Refused(http.StatusNotFound, "not_found", "queues[1]")
	srv.Post("/v1/receive", `{"queues":["a"]}`, caller("acme", "queues:receive:*")...).Refused(http.StatusNotFound, "not_found", "queues[0]")
	srv.Post("/v1/receive", `{"queues":["a"]}`, caller("", "queues:receive:a")...).Want(http.StatusOK)
}
