package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

// TestATargetThatIsMissingIsWarnedOf: the queue is as it was asked to be, and the answer says what will not work.
func TestATargetThatIsMissingIsWarnedOf(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	const named, warned = `{"dead_letter":{"queue":"later"}}`, `"warnings":[{"field":"dead_letter.queue","detail":"There is no queue later yet;`
	srv.Put("/v1/queues/q", named).Want(http.StatusCreated).Has(warned).Has(`"queue":"later"`)
	srv.Put("/v1/queues/q", named).Want(http.StatusOK).Has(warned)
	srv.Patch("/v1/queues/q", `{"visibility":"1m"}`).Want(http.StatusOK).Has(warned)
	srv.Get("/v1/queues/q").Want(http.StatusOK).Lacks("warnings")
	srv.Put("/v1/queues/later", "").Want(http.StatusCreated).Lacks("warnings")
	srv.Patch("/v1/queues/q", named).Want(http.StatusOK).Lacks("warnings")
	srv.Put("/v1/queues/q", "").Want(http.StatusOK).Lacks("warnings")
	srv.Delete("/v1/queues/later").Want(http.StatusNoContent)
	srv.Patch("/v1/queues/q", named).Want(http.StatusOK).Has(warned)
}

func TestCreateAnswersWithTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)

	created := srv.Put("/v1/queues/orders", "").Want(http.StatusCreated)

	created.Has(`"name":"orders"`).
		Has(`"visibility":"30s"`).
		Has(`"delay":"0s"`).
		Has(`"retention":"96h"`).
		Has(`"max_message_bytes":1048576`).
		Has(`"retry":{"policy":"exponential","base":"1s","cap":"5m","jitter":"full"}`).
		Has(`"dead_letter":{"when":"eager"}`).
		Has(`"fifo":false`).
		Has(`"dedup":{"content_based":false,"window":"5m","scope":"queue"}`).
		Has(`"limits":{"overflow":"reject"}`).
		Has(`"priorities":1,"ageing":"1m","fair":false,"shards":1,"group_lock":"whole","ack":"explicit","acks":"leader","min_insync_replicas":1,"history":false`).
		Has(`"counts":{"ready":0,"leased":0,"delayed":0,"dead":0,"bytes":0}`).
		Has(`"oldest_age":null`)
	if got := created.Header.Get("Location"); got != "/v1/queues/orders" {
		t.Errorf("Location = %q, want /v1/queues/orders", got)
	}
}

// TestNotesOfOtherWiresStay has the configuration replaced and changed here that another wire has put notes into.
func TestNotesOfOtherWiresStay(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	ref := engine.Ref{Tenant: "default", Name: "q"}
	_, err := srv.Engine.ChangeQueue(t.Context(), ref, engine.Condition{}, func(c engine.QueueConfig) (engine.QueueConfig, error) {
		c.Notes = map[string]string{"Policy": "secret"}
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []*handlerstest.Answer{
		srv.Put("/v1/queues/q", `{"delay":"5s"}`).Want(http.StatusOK).Has(`"delay":"5s"`),
		srv.Patch("/v1/queues/q", `{"visibility":"1m"}`).Want(http.StatusOK).Has(`"visibility":"1m"`),
		srv.Get("/v1/queues/q").Want(http.StatusOK),
	} {
		if strings.Contains(string(answer.Body), "secret") {
			t.Errorf("notes are shown: %s", answer.Body)
		}
	}
	if c, err := srv.Engine.Config(t.Context(), ref); err != nil || c.Notes["Policy"] != "secret" {
		t.Errorf("notes after PUT and PATCH: %v, %v, want them as they were", c.Notes, err)
	}
}

func TestGroupLockCanBeChanged(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q.fifo", `{"fifo":true,"group_lock":"tail"}`).Want(http.StatusCreated).Has(`"group_lock":"tail"`)
	srv.Patch("/v1/queues/q.fifo", `{"delay":"5s"}`).Want(http.StatusOK).Has(`"group_lock":"tail"`)
	srv.Patch("/v1/queues/q.fifo", `{"group_lock":null}`).Want(http.StatusOK).Has(`"group_lock":"whole"`)
}

func TestCreateReplacesWhatWasThere(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", `{"visibility":"1m","tags":{"team":"a"}}`).Want(http.StatusCreated).Has(`"tags":{"team":"a"}`)

	srv.Put("/v1/queues/q", `{"delay":5,"visibility":null}`).Want(http.StatusOK).
		Has(`"delay":"5s"`).
		Has(`"visibility":"30s"`)
	if strings.Contains(string(srv.Get("/v1/queues/q").Want(http.StatusOK).Body), "team") {
		t.Error("tags that a PUT left out are still there")
	}
}

func TestCreateAgainWithTheSameConfigurationKeepsTheETag(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	first := srv.Put("/v1/queues/q", `{"delay":"60s"}`).Want(http.StatusCreated).Header.Get("ETag")
	second := srv.Put("/v1/queues/q", `{"delay":"1m"}`).Want(http.StatusOK).Header.Get("ETag")
	if first == "" || first != second {
		t.Errorf("ETags %s and %s, want one and the same", first, second)
	}
}

func TestIfMatchGuardsConfiguration(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", "", "If-Match", "*").Refused(http.StatusPreconditionFailed, "conflict", "If-Match")

	old := srv.Put("/v1/queues/q", "").Want(http.StatusCreated).Header.Get("ETag")
	now := srv.Put("/v1/queues/q", `{"delay":"1s"}`, "If-Match", old).Want(http.StatusOK).Header.Get("ETag")
	if old == now {
		t.Errorf("the ETag stayed %s over a change", old)
	}

	srv.Put("/v1/queues/q", "", "If-Match", old).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Patch("/v1/queues/q", `{"delay":"2s"}`, "If-Match", old).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Patch("/v1/queues/q", `{"delay":"2s"}`, "If-Match", "W/"+now).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Patch("/v1/queues/q", `{"delay":"2s"}`, "If-Match", strings.Trim(now, `"`)).Refused(http.StatusBadRequest, "invalid_request", "If-Match")
	srv.Patch("/v1/queues/q", `{"delay":"2s"}`, "If-Match", old+", "+now).Refused(http.StatusBadRequest, "invalid_request", "If-Match")
	srv.Patch("/v1/queues/q", `{"delay":"2s"}`, "If-Match", now).Want(http.StatusOK).Has(`"delay":"2s"`)
	srv.Patch("/v1/queues/q", `{"delay":"3s"}`, "If-Match", "*").Want(http.StatusOK).Has(`"delay":"3s"`)
}

func TestCreateRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	for _, tc := range []struct{ name, body, code, field, says string }{
		{"a field that is not known", `{"visibilty":"30s"}`, "unknown_field", "visibilty", `\"visibilty\" is not known here (line 1, column`},
		{"a nested field that is not known", `{"retry":{"times":3}}`, "unknown_field", "retry.times", "retry.times"},
		{"a field of the wrong type", `{"retry":{"max_receives":"five"}}`, "invalid_request", "retry.max_receives", "must be a whole number"},
		{"a negative number", `{"retry":{"max_receives":-1}}`, "invalid_request", "retry.max_receives", "0 or more"},
		{"a duration that is not one", `{"visibility":"soon"}`, "invalid_request", "visibility", `such as \"30s\"`},
		{"a duration of the wrong type", `{"visibility":true}`, "invalid_request", "visibility", `such as \"30s\"`},
		{"a list for an object", `{"retry":[]}`, "invalid_request", "retry", "must be an object"},
		{"a field given twice", `{"delay":"1s","delay":"2s"}`, "invalid_request", "delay", "given twice"},
		{"JSON cut short", `{"delay":"1s"`, "invalid_request", "", "ends too early"},
		{"JSON with a mistake", "{\n  'delay': 1}", "invalid_request", "", "(line 2, column 3)"},
		{"something after the object", `{} {}`, "invalid_request", "", "not valid JSON"},
		{"a list", `[]`, "invalid_request", "", "must be an object"},
		{"null", `null`, "invalid_request", "", "must be a JSON object"},
		{"text that is not UTF-8", "{\"tags\":{\"a\":\"\xff\"}}", "invalid_request", "tags.a", "not valid UTF-8"},
		{"a label that is a number", `{"tags":{"a":1}}`, "invalid_request", "tags.a", "must be a string"},
		{"a label given twice", `{"tags":{"a":"1","a":"2"}}`, "invalid_request", "tags.a", "given twice"},
		{"labels without end", `{"tags":{` + members(1001) + `}}`, "invalid_request", "tags", "more than 1000"},
		{"a policy that does not exist", `{"retry":{"policy":"sometimes"}}`, "invalid_request", "retry.policy", ""},
		{"a retention of nothing", `{"retention":"0s"}`, "invalid_request", "retention", ""},
		{"too large messages", `{"max_message_bytes":1000000000}`, "invalid_request", "max_message_bytes", ""},
		{"FIFO by another name", `{"fifo":true}`, "invalid_request", "fifo", ".fifo"},
		{"some priorities", `{"priorities":3}`, "invalid_request", "priorities", "1 for none, or 10"},
		{"priorities and turns", `{"priorities":10,"fair":true}`, "invalid_request", "priorities", "leave fair out"},
		{"half a lock", `{"group_lock":"half"}`, "invalid_request", "group_lock", "whole or tail"},
		{"a rate of words", `{"limits":{"rate":"fast"}}`, "invalid_request", "limits.rate", "must be a number"},
		{"a rate below nothing", `{"limits":{"rate":-1}}`, "invalid_request", "limits.rate", "above 0"},
		{"a bound that does not fit", `{"limits":{"max_in_flight":5000000000}}`, "invalid_request", "limits.max_in_flight", "out of range"},
		{"an overflow that does not exist", `{"limits":{"overflow":"burst"}}`, "invalid_request", "limits.overflow", "drop_oldest"},
		{"a window of weeks", `{"dedup":{"window":"8d"}}`, "invalid_request", "dedup.window", "168h"},
		{"a name that is none", `{"dead_letter":{"allow_from":["a b"]}}`, "invalid_request", "dead_letter.allow_from[0]", "letters"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := srv.For(t)
			srv.Put("/v1/queues/q", tc.body).Refused(http.StatusBadRequest, engine.Code(tc.code), tc.field).Has(tc.says)
		})
	}
	srv.Get("/v1/queues/q").Refused(http.StatusNotFound, "not_found", "")
}

func TestFIFOIsForEver(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q.fifo", "").Refused(http.StatusBadRequest, "invalid_request", "fifo")
	srv.Put("/v1/queues/q.fifo", `{"fifo":true}`).Want(http.StatusCreated).Has(`"fifo":true`)
	srv.Put("/v1/queues/q.fifo", `{"fifo":true,"delay":"1s"}`).Want(http.StatusOK)
	srv.Put("/v1/queues/q.fifo", `{"delay":"1s"}`).Refused(http.StatusConflict, "conflict", "fifo")
	srv.Patch("/v1/queues/q.fifo", `{"fifo":null}`).Refused(http.StatusConflict, "conflict", "fifo")
	srv.Patch("/v1/queues/q.fifo", `{"delay":"2s"}`).Want(http.StatusOK).Has(`"fifo":true`)
	srv.Put("/v1/queues/q", "").Want(http.StatusCreated)
	srv.Patch("/v1/queues/q", `{"fifo":true}`).Refused(http.StatusConflict, "conflict", "fifo")
}

func TestDeadLetterQueuesChooseTheirSources(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/grave", `{"dead_letter":{"allow_from":["orders"]}}`).Want(http.StatusCreated).Has(`"allow_from":["orders"]`)
	srv.Put("/v1/queues/orders", `{"dead_letter":{"queue":"grave"}}`).Want(http.StatusCreated)
	srv.Put("/v1/queues/other", `{"dead_letter":{"queue":"grave"}}`).Refused(http.StatusConflict, "conflict", "dead_letter.queue")
	srv.Patch("/v1/queues/grave", `{"dead_letter":{"allow_from":[]}}`).Want(http.StatusOK).Has(`"allow_from":[]`)
	srv.Patch("/v1/queues/orders", `{"delay":"1s"}`).Want(http.StatusOK)
	srv.Patch("/v1/queues/grave", `{"dead_letter":{"allow_from":null}}`).Want(http.StatusOK)
	srv.Put("/v1/queues/other", `{"dead_letter":{"queue":"grave"}}`).Want(http.StatusCreated)
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	for _, name := range []string{".fifo", "a.fifo.fifo", "a.FIFO", strings.Repeat("x", 76) + ".fifo", "a.b", "a%20b", "%2e%2e", "a%2Fb", "caf%C3%A9", strings.Repeat("x", 81)} {
		srv.Put("/v1/queues/"+name, "").Refused(http.StatusBadRequest, "invalid_request", "name")
	}
	srv.Put("/v1/queues/%71", "").Want(http.StatusCreated).Has(`"name":"q"`)
}

// members are those of a JSON object with n of them.
func members(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"%d":""`, i)
	}
	return strings.Join(list, ",")
}

func TestIfNoneMatchOnlyCreates(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", `{"delay":"1s"}`, "If-None-Match", "*").Want(http.StatusCreated)
	srv.Put("/v1/queues/q", `{"delay":"2s"}`, "If-None-Match", "*").Refused(http.StatusPreconditionFailed, "conflict", "If-None-Match")
	srv.Get("/v1/queues/q").Want(http.StatusOK).Has(`"delay":"1s"`)
	srv.Put("/v1/queues/q", "", "If-None-Match", `"1"`).Refused(http.StatusBadRequest, "invalid_request", "If-None-Match")
	srv.Put("/v1/queues/q", "", "If-None-Match", "*", "If-Match", "*").Refused(http.StatusBadRequest, "invalid_request", "If-None-Match")
}

func TestOnlyOneOfManyCreates(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	const clients = 8
	statuses := make(chan int, clients)
	for range clients {
		go func() { statuses <- srv.Put("/v1/queues/q", "", "If-None-Match", "*").Status }()
	}
	created := 0
	for range clients {
		if status := <-statuses; status == http.StatusCreated {
			created++
		} else if status != http.StatusPreconditionFailed {
			t.Errorf("a create that lost = %d, want 412", status)
		}
	}
	if created != 1 {
		t.Errorf("%d of %d clients created the queue, want 1", created, clients)
	}
}
