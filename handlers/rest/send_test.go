package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

func TestSendOneComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, sent, received string }{
		{"text", `{"body":"hello"}`, `"body":"hello","attributes":{}`},
		{"nothing", `{"body":""}`, `"body":"","attributes":{}`},
		{"text in the slow path", `{"body":"hello","delay":0}`, `"body":"hello"`},
		{"escapes", `{"body":"a\"b\\c\n\u0001\u00e9\ud83d\ude00"}`, `"body":"a\"b\\c\n\u0001é😀"`},
		{"JSON in JSON", `{"body":"{\"a\":[1,2,{\"b\":null}]}"}`, `"body":"{\"a\":[1,2,{\"b\":null}]}"`},
		{"bytes that are text", `{"body_base64":"aGVsbG8="}`, `"body":"hello"`},
		{"bytes that are not", `{"body_base64":"/wD/"}`, `"body_base64":"/wD/"`},
		{"attributes in order", `{"attributes":{"z":"1","a":"2"},"body":"x"}`, `"attributes":{"z":"1","a":"2"}`},
		{
			"typed attributes", `{"body":"x","attributes":{"n":{"type":"Number","value":"1"},"b":{"type":"Binary","value_base64":"/w=="}}}`,
			`"attributes":{"n":{"type":"Number","value":"1"},"b":{"type":"Binary","value_base64":"/w=="}}`,
		},
		{
			"bytes in attributes that are text", `{"body":"x","attributes":{"b":{"type":"Binary.png","value_base64":"AAE="}}}`,
			`"attributes":{"b":{"type":"Binary.png","value_base64":"AAE="}}`,
		},
		{"white space", " {\r\n\t\"body\" : \"x\" , \"attributes\" : { \"a\" : \"b\" } } ", `"body":"x","attributes":{"a":"b"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			var sent rest.SendAnswer
			srv.Post("/v1/queues/q/messages", tc.sent).Want(http.StatusOK).Decode(&sent)
			srv.Post("/v1/queues/q/receive", "").Want(http.StatusOK).Has(tc.received).Has(`"id":"` + sent.ID + `"`)
		})
	}
}

func TestSendManyKeepsTheOrder(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	var answer rest.SendManyAnswer
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`).Want(http.StatusOK).Decode(&answer)

	var sent, got []string
	for _, r := range answer.Results {
		sent = append(sent, r.ID)
	}
	for _, m := range receive(t, srv, `{"max":10}`) {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff(sent, got); diff != "" || len(got) != 3 {
		t.Errorf("received ids (-sent +received):\n%s", diff)
	}
}

func TestSendManyRefusesEntryByEntry(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"max_message_bytes":3}`)
	var answer rest.SendManyAnswer
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"abc"},{"body":"abcd"},{"body":"x","delay":"-1s"}]}`).
		Want(http.StatusOK).Decode(&answer)

	r := answer.Results
	if len(r) != 3 || r[0].ID == "" || r[0].Error != nil || r[1].Error == nil || r[2].Error == nil {
		t.Fatalf("results = %+v, want an id and two errors", r)
	}
	if r[1].Error.Code != "too_large" || r[2].Error.Code != "invalid_request" || r[2].Error.Field != "messages[2].delay" {
		t.Errorf("errors = %+v and %+v, want too_large and invalid_request for messages[2].delay", *r[1].Error, *r[2].Error)
	}
	if got := counts(t, srv).Ready; got != 1 {
		t.Errorf("%d messages are ready, want 1", got)
	}
}

func TestSendRefuses(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"max_message_bytes":100}`)
	long := strings.Repeat("x", 101)
	for _, tc := range []struct {
		name, body  string
		status      int
		code, field string
	}{
		{"no message", ``, 400, "invalid_request", "body"},
		{"no body", `{"attributes":{"a":"b"}}`, 400, "invalid_request", "body"},
		{"an empty batch", `{"messages":[]}`, 400, "invalid_request", "messages"},
		{"too large a batch", `{"messages":[` + strings.Repeat(`{"body":""},`, 1000) + `{"body":""}]}`, 400, "invalid_request", "messages"},
		{"attributes without end", `{"body":"x","attributes":{` + members(1001) + `}}`, 400, "invalid_request", "attributes"},
		{"one and many", `{"body":"x","messages":[{"body":"y"}]}`, 400, "invalid_request", "messages"},
		{"two bodies", `{"body":"x","body_base64":"eA=="}`, 400, "invalid_request", "body"},
		{"a body given twice", `{"body":"x","body":"y"}`, 400, "invalid_request", "body"},
		{"an attribute given twice", `{"body":"x","attributes":{"a":"1","a":"2"}}`, 400, "invalid_request", "attributes.a"},
		{"a body that is an object", `{"body":{"a":1}}`, 400, "invalid_request", "body"},
		{"bad base64", `{"body_base64":"!"}`, 400, "invalid_request", "body_base64"},
		{"an attribute that is a number", `{"body":"x","attributes":{"a":1}}`, 400, "invalid_request", "attributes.a"},
		{"an attribute with nothing in it", `{"body":"x","attributes":{"a":{"type":"String"}}}`, 400, "invalid_request", "attributes.a"},
		{"an attribute with more in it", `{"body":"x","attributes":{"a":{"type":"String","value":"1","x":2}}}`, 400, "unknown_field", "attributes.a.x"},
		{"attributes as a list", `{"body":"x","attributes":["a"]}`, 400, "invalid_request", "attributes"},
		{"a field of another kind of queue", `{"body":"x","prority":5}`, 400, "unknown_field", "prority"},
		{"an unknown field deep down", `{"messages":[{"body":"x"},{"body":"y","color":"red"}]}`, 400, "unknown_field", "messages[1].color"},
		{"a raw control character", "{\"body\":\"a\nb\"}", 400, "invalid_request", ""},
		{"a lone surrogate", `{"body":"\ud800"}`, 400, "invalid_request", ""},
		{"text that is not UTF-8", "{\"body\":\"\xff\"}", 400, "invalid_request", "body"},
		{"a time that is not one", `{"body":"x","deliver_at":"tomorrow"}`, 400, "invalid_request", "deliver_at"},
		{"a negative delay", `{"body":"x","delay":-1}`, 400, "invalid_request", "delay"},
		{"a priority where there are none", `{"body":"x","priority":5}`, 400, "invalid_request", "priority"},
		{"a priority that is a fraction", `{"body":"x","priority":0.5}`, 400, "invalid_request", "priority"},
		{"no time to live", `{"body":"x","ttl":0}`, 400, "invalid_request", "ttl"},
		{"a group that is too long", `{"body":"x","group":"` + strings.Repeat("g", 129) + `"}`, 400, "invalid_request", "group"},
		{"a group that is a number", `{"body":"x","group":5}`, 400, "invalid_request", "group"},
		{"a deduplication id with a line feed", `{"body":"x","dedup_id":"a\nb"}`, 400, "invalid_request", "dedup_id"},
		{"a message that is too large", `{"body":"` + long + `"}`, 413, "too_large", "body"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv.For(t).Post("/v1/queues/q/messages", tc.body).Refused(tc.status, engine.Code(tc.code), tc.field)
		})
	}
	if got := (engine.Counts{}); counts(t, srv) != got {
		t.Errorf("refused messages left %+v in the queue", counts(t, srv))
	}
	srv.Post("/v1/queues/none/messages", `{"body":"x"}`).Refused(http.StatusNotFound, "not_found", "")
	srv.Post("/v1/queues/q/messages?delay=5s", `{"body":"x"}`).Refused(http.StatusBadRequest, "unknown_field", "delay")
}

func TestABatchIsJudgedEntryByEntry(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, entry, field, says string }{
		{"nothing in it", `{}`, "messages[1].body", "missing"},
		{"two bodies", `{"body":"x","body_base64":"eA=="}`, "messages[1].body", "not both"},
		{"a delay that is no duration", `{"body":"x","delay":"soon"}`, "messages[1].delay", "a duration such as"},
		{"a delay that is too long a number", `{"body":"x","delay":1e300}`, "messages[1].delay", "a duration such as"},
		{"bad base64", `{"body_base64":"!"}`, "messages[1].body_base64", "not valid base64"},
		{"a time that is none", `{"body":"x","deliver_at":"tomorrow"}`, "messages[1].deliver_at", "a time such as"},
		{"an attribute without a value", `{"body":"x","attributes":{"a":{"type":"String"}}}`, "messages[1].attributes.a", "one of value"},
		{"an attribute in bad base64", `{"body":"x","attributes":{"a":{"type":"Binary","value_base64":"!"}}}`, "messages[1].attributes.a.value_base64", "not valid base64"},
		{"an attribute without a name", `{"body":"x","attributes":{"":"1"}}`, "messages[1].attributes", "1 to 256 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			batch, key := `{"messages":[{"body":"a"},`+tc.entry+`,{"body":"c"}]}`, []string{"Idempotency-Key", "k"}
			for range 2 { // a repeat is told the same
				var answer rest.SendManyAnswer
				srv.Post("/v1/queues/q/messages", batch, key...).Want(http.StatusOK).Decode(&answer)
				r := answer.Results
				if len(r) != 3 || r[0].ID == "" || r[1].Error == nil || r[2].ID == "" {
					t.Fatalf("results = %+v, want an id, an error and an id", r)
				}
				if e := *r[1].Error; e.Code != "invalid_request" || e.Field != tc.field || !strings.Contains(e.Detail, tc.says) {
					t.Errorf("error = %+v, want invalid_request for %s that says %q", e, tc.field, tc.says)
				}
			}
			if got := counts(t, srv).Ready; got != 2 {
				t.Errorf("%d messages are ready, want 2", got)
			}
			other := strings.Replace(batch, tc.entry, `{"body":""}`, 1)
			srv.Post("/v1/queues/q/messages", other, key...).Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
		})
	}
}

func TestABatchThatIsNotUnderstoodIsRefusedWhole(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for _, tc := range []struct{ entry, code, field string }{
		{`{"body":1}`, "invalid_request", "messages[1].body"},
		{`{"body":"x","delay":true}`, "invalid_request", "messages[1].delay"},
		{`{"body":"x","deliver_at":5}`, "invalid_request", "messages[1].deliver_at"},
		{`{"body":"x","body":"y"}`, "invalid_request", "messages[1].body"},
		{`{"body":"x","attributes":{"a":1}}`, "invalid_request", "messages[1].attributes.a"},
		{`"x"`, "invalid_request", "messages[1]"},
		{`{"color":"red"}`, "unknown_field", "messages[1].color"},
		{`{"body":"\ud800"}`, "invalid_request", ""},
	} {
		srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},`+tc.entry+`]}`).
			Refused(http.StatusBadRequest, engine.Code(tc.code), tc.field)
	}
	if got := counts(t, srv).Ready; got != 0 {
		t.Errorf("%d messages are ready, want 0", got)
	}
}

func TestWhatIsPlannedSaysSo(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	const notYet = "not built yet"
	for path, body := range map[string]string{
		"/v1/queues/q/messages": `{"body":"x","transaction":"t"}`,
		"/v1/queues/q/ack":      `{"receipts":["r"],"transaction":"t"}`,
	} {
		srv.Post(path, body).Want(http.StatusBadRequest).Has(`"unknown_field"`).Has(notYet)
	}
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"x","transaction":"t"}]}`).Want(http.StatusBadRequest).Has(`"messages[0].transaction"`).Has(notYet)
	for _, path := range []string{"/v1/topics/t/groups/g/fetch", "/v1/topics/t/compact", "/v1/transactions", "/console/"} {
		srv.Post(path, "").Refused(http.StatusNotFound, "not_found", "").Has(notYet)
	}
	srv.Post("/v1/queues/q/purges", "").Refused(http.StatusNotFound, "not_found", "").Has("nothing at this path")
}

func TestSendHoldsBack(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a","delay":"1h"},{"body":"b","delay":3600},{"body":"c","deliver_at":"`+later+`"}]}`).
		Want(http.StatusOK)
	srv.Post("/v1/queues/q/messages?delay=1d", "raw", "Content-Type", "text/plain").Want(http.StatusOK)
	srv.Post("/v1/queues/q/messages?deliver_at="+later, "raw", "Content-Type", "text/plain").Want(http.StatusOK)
	if got := counts(t, srv); got.Delayed != 5 || got.Ready != 0 {
		t.Errorf("counts = %+v, want 5 delayed", got)
	}
	srv.Post("/v1/queues/q/messages?delay=soon", "raw", "Content-Type", "text/plain").Refused(http.StatusBadRequest, "invalid_request", "delay")
	srv.Post("/v1/queues/q/messages?deliver_at=soon", "raw", "Content-Type", "text/plain").Refused(http.StatusBadRequest, "invalid_request", "deliver_at")
}

func TestSendRepeatedWithItsKeyIsADuplicate(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	key := []string{"Idempotency-Key", "order-7"}
	var first, again rest.SendAnswer
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`, key...).Want(http.StatusOK).Decode(&first)
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`, key...).Want(http.StatusOK).Decode(&again)

	if want := (rest.SendAnswer{ID: first.ID, Duplicate: true}); again != want || first.Duplicate {
		t.Errorf("first %+v, again %+v, want again to be %+v", first, again, want)
	}
	if got := counts(t, srv).Ready; got != 1 {
		t.Errorf("%d messages are ready, want 1", got)
	}
	srv.Post("/v1/queues/q/messages", `{"body":"y"}`, key...).Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`, "Idempotency-Key", "").Refused(http.StatusBadRequest, "invalid_request", "Idempotency-Key")
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`, "Idempotency-Key", strings.Repeat("k", 129)).Refused(http.StatusBadRequest, "invalid_request", "Idempotency-Key")

	srv.Put("/v1/queues/other", "").Want(http.StatusCreated)
	srv.Post("/v1/queues/other/messages", `{"body":"y"}`, key...).Want(http.StatusOK)
}

func TestSendManyRepeatedGivesTheFirstResults(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"max_message_bytes":3}`)
	body, key := `{"messages":[{"body":"a"},{"body":"abcd"},{"body":"c"}]}`, []string{"Idempotency-Key", "k"}
	var first, again rest.SendManyAnswer
	srv.Post("/v1/queues/q/messages", body, key...).Want(http.StatusOK).Decode(&first)
	srv.Post("/v1/queues/q/messages", body, key...).Want(http.StatusOK).Decode(&again)

	want := first
	want.Duplicate = true
	for i := range want.Results {
		want.Results[i].Duplicate = want.Results[i].ID != ""
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("repeated send (-want +got):\n%s", diff)
	}
}

func TestRawBodiesGoThroughUnchanged(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	photo := "\xff\xd8\xff\xe0\x00{not json}"
	srv.Post("/v1/queues/q/messages", photo,
		"Content-Type", "image/jpeg", "Dabba-Attr-Album", "Sommer 2026", "Dabba-Attr-page", "2").Want(http.StatusOK)

	got := srv.Post("/v1/queues/q/receive?visibility=0", "", "Accept", "application/octet-stream").Want(http.StatusOK)
	if string(got.Body) != photo {
		t.Errorf("body = %q, want %q", got.Body, photo)
	}
	for name, want := range map[string]string{
		"Content-Type":     "image/jpeg",
		"Dabba-Receives":   "1",
		"Dabba-Attr-Album": "Sommer 2026",
		"Dabba-Attr-Page":  "2",
	} {
		if got := got.Header.Get(name); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
	if got.Header.Get("Dabba-Id") == "" || got.Header.Get("Dabba-Receipt") == "" {
		t.Errorf("headers %v have no id or no receipt", got.Header)
	}

	srv.Post("/v1/queues/q/receive", "").Want(http.StatusOK).
		Has(`"body_base64":"/9j/4AB7bm90IGpzb259"`).
		Has(`"content_type":"image/jpeg"`).
		Has(`"attributes":{"album":"Sommer 2026","page":"2"}`)
	srv.Post("/v1/queues/q/receive", "", "Accept", "application/octet-stream").Want(http.StatusNoContent)
	srv.Post("/v1/queues/q/receive?max=2", "", "Accept", "application/octet-stream").Refused(http.StatusBadRequest, "invalid_request", "max")
}

func TestRawBodiesSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q.fifo", `{"fifo":true}`).Want(http.StatusCreated)
	srv.Put("/v1/queues/urgent", `{"priorities":10}`).Want(http.StatusCreated)
	text := []string{"Content-Type", "text/plain"}
	srv.Post("/v1/queues/q.fifo/messages?group=g%201&dedup_id=a&ttl=1h", "one", text...).Want(http.StatusOK).Has(`"sequence":1`)
	srv.Post("/v1/queues/q.fifo/messages", "two", append(text, "Dabba-Group", "g 1", "Dabba-Dedup-Id", "a")...).
		Want(http.StatusOK).Has(`"sequence":1,"duplicate":true`)
	srv.Post("/v1/queues/urgent/messages?priority=7", "three", text...).Want(http.StatusOK)
	srv.Post("/v1/queues/urgent/messages", "four", append(text, "Dabba-Priority", "8", "Dabba-Ttl", "1d", "Dabba-Delay", "0")...).Want(http.StatusOK)

	raw := []string{"Accept", "application/octet-stream"}
	got := srv.Post("/v1/queues/q.fifo/receive", "", raw...).Want(http.StatusOK).Header
	for name, want := range map[string]string{
		"Dabba-Group": "g 1", "Dabba-Dedup-Id": "a", "Dabba-Sequence": "1", "Dabba-Priority": "",
	} {
		if got.Get(name) != want {
			t.Errorf("header %s = %q, want %q", name, got.Get(name), want)
		}
	}
	if ends, err := time.Parse(time.RFC3339, got.Get("Dabba-Expires-At")); err != nil || time.Until(ends) > time.Hour || time.Until(ends) < 59*time.Minute {
		t.Errorf("Dabba-Expires-At = %q, want it an hour from now", got.Get("Dabba-Expires-At"))
	}
	for _, want := range []string{"8", "7"} {
		if got := srv.Post("/v1/queues/urgent/receive", "", raw...).Want(http.StatusOK).Header.Get("Dabba-Priority"); got != want {
			t.Errorf("Dabba-Priority = %q, want %q", got, want)
		}
	}

	srv.Post("/v1/queues/urgent/messages?priority=7", "x", append(text, "Dabba-Priority", "7")...).Refused(http.StatusBadRequest, "invalid_request", "priority")
	srv.Post("/v1/queues/urgent/messages", "x", append(text, "Dabba-Priority", "high")...).Refused(http.StatusBadRequest, "invalid_request", "priority")
	srv.Post("/v1/queues/urgent/messages?ttl=soon", "x", text...).Refused(http.StatusBadRequest, "invalid_request", "ttl")
	srv.Post("/v1/queues/q.fifo/messages?priority=1", "x", text...).Refused(http.StatusBadRequest, "invalid_request", "priority")
}

func TestFIFOSendsHaveSequences(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q.fifo", `{"fifo":true,"dedup":{"content_based":true}}`).Want(http.StatusCreated)
	var sent rest.SendManyAnswer
	srv.Post("/v1/queues/q.fifo/messages", `{"messages":[{"body":"a","group":"g"},{"body":"b","group":"g"},{"body":"a","group":"h"},{"body":"c","priority":1}]}`).
		Want(http.StatusOK).Decode(&sent)
	r := sent.Results
	if len(r) != 4 || r[0].Sequence != 1 || r[1].Sequence != 2 || r[3].Error == nil || r[3].Error.Field != "messages[3].priority" {
		t.Fatalf("results = %+v, want sequences 1 and 2, a duplicate and a refusal", r)
	}
	if want := (rest.SendAnswer{ID: r[0].ID, Sequence: 1, Duplicate: true}); r[2].SendAnswer != want {
		t.Errorf("the duplicate's result = %+v, want %+v", r[2].SendAnswer, want)
	}
	var got rest.ReceiveAnswer
	srv.Post("/v1/queues/q.fifo/receive", `{"max":10}`).Want(http.StatusOK).Has(`"group":"g","sequence":1,"lease"`).Decode(&got)
	if m := got.Messages; len(m) != 2 || m[0].Sequence != 1 || m[1].Sequence != 2 || m[1].Group != "g" {
		t.Errorf("received %+v, want sequences 1 and 2 of group g", m)
	}
}

func TestAFullQueueIs429(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"limits":{"max_messages":1}}`)
	var sent rest.SendManyAnswer
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK).Decode(&sent)
	if r := sent.Results; len(r) != 2 || r[0].ID == "" || r[1].Error == nil || r[1].Error.Code != engine.CodeQueueFull {
		t.Errorf("results = %+v, want an id and queue_full", sent.Results)
	}
	full := srv.Post("/v1/queues/q/messages", `{"body":"b"}`).
		Refused(http.StatusTooManyRequests, engine.CodeQueueFull, "limits.max_messages").Has(`"outcome":"not_applied"`)
	if got := full.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After = %q, want 1", got)
	}

	srv.Patch("/v1/queues/q", `{"limits":{"overflow":"drop_newest"}}`).Want(http.StatusOK)
	if got := string(srv.Post("/v1/queues/q/messages", `{"body":"b"}`).Want(http.StatusOK).Body); got != `{"dropped":true}`+"\n" {
		t.Errorf("answer to a dropped message = %s", got)
	}
	srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"b"}]}`).Want(http.StatusOK).Has(`{"results":[{"dropped":true}]}`)
}

func TestASendThatBlocksWaitsForRoom(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, `{"limits":{"max_messages":1,"overflow":"block"}}`)
	srv.Post("/v1/queues/q/messages", `{"body":"a"}`).Want(http.StatusOK)
	held := one(t, srv, "")
	status := make(chan int, 1)
	go func() { status <- srv.Post("/v1/queues/q/messages", `{"body":"b"}`).Status }()
	srv.Post("/v1/queues/q/ack", `{"receipts":["`+held.Receipt+`"]}`).Want(http.StatusOK)
	if s := <-status; s != http.StatusOK {
		t.Errorf("a send that found room = %d, want 200", s)
	}
}

func TestTheTypeDecidesWhatABodyIs(t *testing.T) {
	t.Parallel()
	const raw = `"body":"{\"body\":\"x\"}","content_type":`
	for _, tc := range []struct{ contentType, body string }{
		{"application/json", `"body":"x","attributes"`},
		{"application/json; charset=utf-8", `"body":"x","attributes"`},
		{"Application/JSON", `"body":"x","attributes"`},
		{"application/x-www-form-urlencoded", `"body":"x","attributes"`},
		{"Application/X-WWW-Form-Urlencoded; charset=UTF-8", `"body":"x","attributes"`},
		{"", `"body":"{\"body\":\"x\"}","attributes"`},
		{"text/plain", raw + `"text/plain"`},
		{"application/cloudevents+json", raw + `"application/cloudevents+json"`},
		{"garbage", raw + `"garbage"`},
		{"multipart/form-data", raw + `"multipart/form-data"`},
	} {
		t.Run(tc.contentType, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			srv.Post("/v1/queues/q/messages", `{"body":"x"}`, "Content-Type", tc.contentType).Want(http.StatusOK)
			srv.Post("/v1/queues/q/receive", "").Want(http.StatusOK).Has(tc.body)
		})
	}
}

// TestAFormMayBeJSON: curl -d labels all that it sends as a form. An object that can only be meant as a send is read as one, and
// what is wrong with it is explained; anything else is a text without a type.
func TestAFormMayBeJSON(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	for name, tc := range map[string]struct {
		sent string
		want []string // the bodies that are received
	}{
		"one message":             {` {"body": "a", "attributes": {"n": "1"}, "delay": "0s"} `, []string{"a"}},
		"bytes":                   {`{"body_base64":"aGk="}`, []string{"hi"}},
		"many":                    {`{"messages":[{"body":"a"},{"body":"b"}]}`, []string{"a", "b"}},
		"escaped name":            {`{"bod\u0079":"a"}`, []string{"a"}},
		"a pair":                  {`a=1&b=2`, nil},
		"a text":                  {`two dosas`, nil},
		"nothing":                 {``, nil},
		"an empty object":         {`{}`, nil},
		"no message in it":        {`{"group":"g","delay":"1h"}`, nil},
		"a field of its own":      {`{"body":"a","subject":"b"}`, nil},
		"records are not of this": {`{"records":[{"value":"a"}]}`, nil},
		"another event":           {`{"specversion":"1.0","type":"order","data":{"body":"a"}}`, nil},
		"a list":                  {`[{"body":"a"}]`, nil},
		"a string":                {`"body"`, nil},
		"broken":                  {`{"body":"a"`, nil},
		"something behind it":     {`{"body":"a"}{"body":"b"}`, nil},
		"a byte order mark":       {"\ufeff" + `{"body":"a"}`, nil},
		"a comma too many":        {`{"body":"a",}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, "")
			if tc.want == nil {
				tc.want = []string{tc.sent}
			}
			srv.Post("/v1/queues/q/messages", tc.sent, "Content-Type", form).Want(http.StatusOK)
			var got rest.ReceiveAnswer
			srv.Post("/v1/queues/q/receive?max=10", "").Want(http.StatusOK).Lacks("content_type").Decode(&got)
			var bodies []string
			for _, m := range got.Messages {
				bodies = append(bodies, *m.Body)
			}
			if diff := cmp.Diff(tc.want, bodies); diff != "" {
				t.Errorf("received (-want +got):\n%s", diff)
			}
		})
	}
	srv := withQueue(t, "")
	for name, tc := range map[string]struct{ sent, code, field string }{
		"a number":                 {`{"body":5}`, "invalid_request", "body"},
		"given twice":              {`{"body":"a","body":"b"}`, "invalid_request", "body"},
		"both":                     {`{"body":"a","body_base64":"aGk="}`, "invalid_request", "body"},
		"a field within":           {`{"messages":[{"body":"a","subject":"b"}]}`, "unknown_field", "messages[0].subject"},
		"not built yet":            {`{"body":"a","transaction":"t"}`, "unknown_field", "transaction"},
		"a parameter of a raw one": {`{"body":"a"}`, "unknown_field", "delay"},
	} {
		path := "/v1/queues/q/messages"
		if tc.field == "delay" {
			path += "?delay=5s"
		}
		t.Run(name, func(t *testing.T) {
			srv.For(t).Post(path, tc.sent, "Content-Type", form).Refused(http.StatusBadRequest, engine.Code(tc.code), tc.field)
		})
	}
}

// TestNothingIsNoMessage: a send without a type and without a body has forgotten both.
func TestNothingIsNoMessage(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	srv.Post("/v1/queues/q/messages", "").Refused(http.StatusBadRequest, "invalid_request", "body")
	srv.Post("/v1/queues/q/messages", "", "Content-Type", "text/plain").Want(http.StatusOK)
}

func TestOtherCallsReadJSONWhateverItsType(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	srv.Put("/v1/queues/q", `{"delay":"1s"}`, form...).Want(http.StatusCreated).Has(`"delay":"1s"`)
	srv.Post("/v1/queues/q/receive", `{"max":1}`, form...).Want(http.StatusOK)
}

func TestTraceContextTravels(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`, "traceparent", trace).Want(http.StatusOK)
	srv.Post("/v1/queues/q/receive?visibility=0", "").Want(http.StatusOK).Has(`"traceparent":"` + trace + `"`)
	raw := srv.Post("/v1/queues/q/receive", "", "Accept", "application/octet-stream").Want(http.StatusOK)
	if got := raw.Header.Get("traceparent"); got != trace {
		t.Errorf("traceparent of a raw receive = %q, want %q", got, trace)
	}

	srv.Post("/v1/queues/q/messages", `{"body":"y"}`, "traceparent", "nonsense").Want(http.StatusOK)
	if got := one(t, srv, "").TraceParent; got != "" {
		t.Errorf("traceparent %q was kept, want nonsense to be passed over", got)
	}
}

func TestBodiesOf16MiBAndMore(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	srv := withQueue(t, "")
	srv.Put("/v1/queues/large", fmt.Sprintf(`{"max_message_bytes":%d}`, 20*mib)).Want(http.StatusCreated)
	body := strings.Repeat("x", 17*mib)
	raw := []string{"Content-Type", "text/plain"}

	srv.Post("/v1/queues/large/messages", body, raw...).Want(http.StatusOK)
	srv.Post("/v1/queues/large/messages", `{"body":"`+body+`"}`).Want(http.StatusOK)
	srv.Post("/v1/queues/q/messages", body, raw...).Refused(http.StatusRequestEntityTooLarge, "too_large", "")
	srv.Post("/v1/queues/none/messages", body, raw...).Refused(http.StatusNotFound, "not_found", "")
	srv.Put("/v1/queues/q", body).Refused(http.StatusRequestEntityTooLarge, "too_large", "")

	got := srv.Post("/v1/queues/large/receive", "", "Accept", "application/octet-stream").Want(http.StatusOK)
	if string(got.Body) != body {
		t.Errorf("received %d bytes, want the %d that were sent", len(got.Body), len(body))
	}
}

func TestCompressedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	srv := withQueue(t, "")
	for _, path := range []string{"/v1/queues/q/messages", "/v1/queues/q/receive"} {
		got := srv.Post(path, "\x1f\x8b", "Content-Encoding", "gzip").
			Refused(http.StatusUnsupportedMediaType, "invalid_request", "Content-Encoding")
		if accepted := got.Header.Get("Accept-Encoding"); accepted != "identity" {
			t.Errorf("Accept-Encoding of a 415 = %q, want identity", accepted)
		}
	}
	srv.Post("/v1/queues/q/messages", `{"body":"x"}`, "Content-Encoding", "identity").Want(http.StatusOK)
}

// TestMessageThatNeverFitsIsTooLarge sends more to an empty queue than it may ever have: to repeat that is of no use.
func TestMessageThatNeverFitsIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, overflow := range []string{"reject", "block", "drop_oldest", "drop_newest", "sample"} {
		t.Run(overflow, func(t *testing.T) {
			t.Parallel()
			srv := withQueue(t, `{"limits":{"max_bytes":10,"overflow":"`+overflow+`"}}`)
			srv.Post("/v1/queues/q/messages", `{"body":"0123456789A"}`).Refused(http.StatusRequestEntityTooLarge, "too_large", "body")
			srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"0123456789A"},{"body":"0123456789"}]}`).Want(http.StatusOK).
				Has(`"code":"too_large"`).Has(`"id":`)
		})
	}
}

// TestASendThatNeverFitsDoesNotBlock sends more at once than the queue may ever have, where others wait an hour for room.
func TestASendThatNeverFitsDoesNotBlock(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{`"max_messages":2`, `"max_bytes":2`} {
		srv := withQueue(t, `{"wait":"1h","dedup":{"content_based":true},"limits":{`+limit+`,"overflow":"block"}}`)
		srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"c"}]}`).Want(http.StatusOK).Has(`"code":"queue_full"`)
		srv.Post("/v1/queues/q/messages", `{"messages":[{"body":"a"},{"body":"b"},{"body":"a"}]}`).Want(http.StatusOK).Has(`"duplicate":true`)
	}
}
