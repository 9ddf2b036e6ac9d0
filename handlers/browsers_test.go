package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

// act is a request that changes something, or leases.
type act struct {
	// route is that of the router: method and pattern.
	route, path, body string
}

// stocked is a server without keys on which every act does something.
type stocked struct {
	t       *testing.T
	handler http.Handler
	config  handlers.Config
	acts    []act
	// moved counts how often the clock was moved.
	moved atomic.Int64
}

// ownHost is how clients of the tests reach the server.
const ownHost = "127.0.0.1:8080"

func stock(t *testing.T, changes ...func(*handlers.Config)) *stocked {
	t.Helper()
	s := &stocked{t: t}
	changes = append(changes, func(c *handlers.Config) {
		c.Step = func(time.Duration) time.Time {
			s.moved.Add(1)
			return time.Now()
		}
		c.Advance = func(time.Duration) time.Time {
			s.moved.Add(1)
			return time.Now()
		}
	})
	srv := handlerstest.Start(t, changes...)
	s.handler, s.config = srv.HTTP.Handler, srv.Config

	s.must("PUT", "/v1/queues/q", `{"retry":{"max_receives":1},"dead_letter":{"when":"eager"}}`)
	s.must("PUT", "/v1/queues/paused", "")
	s.must("POST", "/v1/queues/paused/pause", "")
	s.must("PUT", "/v1/queues/f.fifo", `{"fifo":true}`)
	for _, queue := range []string{"q", "q", "f.fifo"} {
		s.must("POST", "/v1/queues/"+queue+"/messages", `{"body":"x","group":"g"}`)
	}
	var received struct {
		Messages []struct{ ID, Receipt string }
	}
	s.decode(s.must("POST", "/v1/queues/q/receive", `{"consumer":"c","visibility":"1h"}`), &received)
	leased := received.Messages[0]
	var sent struct{ ID string }
	s.decode(s.must("POST", "/v1/queues/q/messages", `{"body":"later","delay":"1h"}`), &sent)
	s.decode(s.must("POST", "/v1/queues/q/receive", `{"visibility":"1h"}`), &received)
	s.must("POST", "/v1/queues/q/nack", `{"receipts":["`+received.Messages[0].Receipt+`"]}`)
	s.must("POST", "/v1/queues/q/messages", `{"body":"ready"}`)
	s.must("PUT", "/v1/queues/q/schedules/s", `{"cron":"0 0 1 1 *","message":{"body":"x"}}`)
	s.must("PUT", "/v1/topics/t", `{"partitions":1}`)
	s.must("POST", "/v1/topics/t/records", `{"records":[{"value":"a"},{"value":"b"}]}`)
	receipts := `{"receipts":["` + leased.Receipt + `"]`

	const service, queueURL = " /", " /{account:[0-9]+}/{queue}"
	s.acts = []act{
		{"POST /v1/dev/clock/advance", "/v1/dev/clock/advance", `{"by":"1h"}`},
		{"POST /v1/dev/clock/step", "/v1/dev/clock/step", `{"by":"-1h"}`},
		{"PUT /v1/queues/{q}", "/v1/queues/new", ""},
		{"PUT /v1/queues/{q}", "/v1/queues/q", `{"visibility":"7s"}`},
		{"PATCH /v1/queues/{q}", "/v1/queues/q", `{"delay":"7s"}`},
		{"DELETE /v1/queues/{q}", "/v1/queues/q?force=true", ""},
		{"POST /v1/queues/{q}/pause", "/v1/queues/q/pause", ""},
		{"POST /v1/queues/{q}/resume", "/v1/queues/paused/resume", ""},
		{"POST /v1/queues/{q}/messages", "/v1/queues/q/messages", `{"body":"evil"}`},
		{"POST /v1/queues/{q}/receive", "/v1/queues/q/receive", ""},
		{"POST /v1/queues/{q}/ack", "/v1/queues/q/ack", receipts + "}"},
		{"POST /v1/queues/{q}/nack", "/v1/queues/q/nack", receipts + "}"},
		{"POST /v1/queues/{q}/extend", "/v1/queues/q/extend", receipts + `,"visibility":"9h"}`},
		{"DELETE /v1/queues/{q}/messages/{receipt}", "/v1/queues/q/messages/" + leased.Receipt, ""},
		{"POST /v1/queues/{q}/release", "/v1/queues/q/release", `{"consumer":"c"}`},
		{"POST /v1/receive", "/v1/receive", `{"queues":["q"]}`},
		{"PATCH /v1/queues/{q}/messages/id/{id}", "/v1/queues/q/messages/id/" + sent.ID, `{"delay":"9h"}`},
		{"DELETE /v1/queues/{q}/messages/id/{id}", "/v1/queues/q/messages/id/" + sent.ID, ""},
		{"POST /v1/queues/{q}/purge", "/v1/queues/q/purge", ""},
		{"POST /v1/queues/{q}/redrive", "/v1/queues/q/redrive", `{"to":"paused"}`},
		{"POST /v1/queues/{q}/groups/{g}/skip", "/v1/queues/f.fifo/groups/g/skip", ""},
		{"POST /v1/queues/{q}/groups/{g}/dead-letter", "/v1/queues/f.fifo/groups/g/dead-letter", ""},
		{"POST /v1/queues/{q}/groups/{g}/purge", "/v1/queues/f.fifo/groups/g/purge", ""},
		{"PUT /v1/queues/{q}/schedules/{name}", "/v1/queues/q/schedules/new", `{"cron":"0 0 1 1 *","message":{"body":"x"}}`},
		{"DELETE /v1/queues/{q}/schedules/{name}", "/v1/queues/q/schedules/s", ""},
		{"PUT /v1/topics/{t}", "/v1/topics/new", `{"partitions":1}`},
		{"DELETE /v1/topics/{t}", "/v1/topics/t", ""},
		{"POST /v1/topics/{t}/records", "/v1/topics/t/records", `{"records":[{"value":"evil"}]}`},
		{"DELETE /v1/topics/{t}/partitions/{p}/records", "/v1/topics/t/partitions/0/records?before=1", ""},
		{"PUT /v1/topics/{t}/offsets/{name}", "/v1/topics/t/offsets/new", `{"offsets":{"0":1}}`},
	}
	for _, query := range []string{
		"Action=CreateQueue&QueueName=evil", "Action=DeleteQueue&QueueUrl=q", "Action=PurgeQueue&QueueUrl=q",
		"Action=SetQueueAttributes&QueueUrl=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=7",
		"Action=TagQueue&QueueUrl=q&Tag.1.Key=evil&Tag.1.Value=x",
		"Action=SendMessage&QueueUrl=q&MessageBody=evil", "Action=ReceiveMessage&QueueUrl=q",
		"Action=DeleteMessage&QueueUrl=q&ReceiptHandle=" + url.QueryEscape(leased.Receipt),
		"Action=ChangeMessageVisibility&QueueUrl=q&VisibilityTimeout=0&ReceiptHandle=" + url.QueryEscape(leased.Receipt),
	} {
		s.acts = append(s.acts, act{"GET" + service, "/?" + query, ""}, act{"POST" + service, "/", query}, act{"POST" + service, "/?" + query, ""})
		if !strings.Contains(query, "CreateQueue") {
			ofQueue := strings.Replace(query, "QueueUrl=q", "", 1)
			s.acts = append(s.acts, act{"GET" + queueURL, "/000000000000/q?" + ofQueue, ""}, act{"POST" + queueURL, "/000000000000/q", ofQueue})
			s.acts = append(s.acts, act{"GET elsewhere", "/queue/q?" + ofQueue, ""}, act{"POST elsewhere", "/queue/q", ofQueue})
		}
	}
	return s
}

// do makes one request, and a change of it.
func (s *stocked) do(method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Host = ownHost
	if strings.HasPrefix(path, "/v1/") {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, r)
	return rec
}

func (s *stocked) must(method, path, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	rec := s.do(method, path, body, nil)
	if rec.Code >= http.StatusBadRequest {
		s.t.Fatalf("%s %s %s = %d %s", method, path, body, rec.Code, rec.Body)
	}
	return rec
}

func (s *stocked) decode(rec *httptest.ResponseRecorder, v any) {
	s.t.Helper()
	if err := json.Unmarshal(rec.Body.Bytes(), v); err != nil {
		s.t.Fatalf("decode %s: %v", rec.Body, err)
	}
}

// state is all that the server holds, as far as it can be read: what the time alone changes is left out.
func (s *stocked) state() map[string]any {
	s.t.Helper()
	all := map[string]any{"moved": s.moved.Load()}
	show := func(path string) map[string]any {
		var v map[string]any
		s.decode(s.must("GET", path, ""), &v)
		all[path] = v
		return v
	}
	for _, q := range show("/v1/queues?limit=1000")["queues"].([]any) {
		queue := q.(map[string]any)
		for _, changing := range []string{"rates", "wait_time", "oldest_age", "drain_seconds", "suggested_workers"} {
			delete(queue, changing)
		}
		name := "/v1/queues/" + queue["name"].(string)
		if config, ok := queue["config"].(map[string]any); !ok || config["visibility"] == nil {
			s.t.Fatalf("the list of queues shows no configuration: %v", queue)
		}
		delete(show(name+"/messages"), "scanned")
		show(name + "/schedules")
	}
	for _, t := range show("/v1/topics")["topics"].([]any) {
		name := "/v1/topics/" + t.(map[string]any)["name"].(string)
		show(name + "/partitions/0/records?offset=earliest")
		all[name] = s.do("GET", name+"/offsets/new", "", nil).Code
	}
	show("/v1/tasks")
	return all
}

// shapes are what foreign pages make browsers send. Each has an answer: 403 or 421.
var shapes = []struct {
	name    string
	headers []string
	host    string
	want    int
}{
	{"foreign origin", []string{"Origin", "https://evil.example"}, ownHost, http.StatusForbidden},
	{"origin null", []string{"Origin", "null"}, ownHost, http.StatusForbidden},
	{"another port", []string{"Origin", "http://127.0.0.1:3000"}, ownHost, http.StatusForbidden},
	{"form", []string{"Origin", "https://evil.example", "Content-Type", "application/x-www-form-urlencoded"}, ownHost, http.StatusForbidden},
	{"text form", []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, ownHost, http.StatusForbidden},
	{"multipart form", []string{"Origin", "https://evil.example", "Content-Type", "multipart/form-data; boundary=x"}, ownHost, http.StatusForbidden},
	{"beacon", []string{"Origin", "null", "Content-Type", "application/json", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, ownHost, http.StatusForbidden},
	{"SQS script", []string{"Origin", "https://evil.example", "Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "AmazonSQS.ListQueues"}, ownHost, http.StatusForbidden},
	{"with a token", []string{"Origin", "https://evil.example", "Authorization", "Bearer x"}, ownHost, http.StatusForbidden},
	{"image", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, ownHost, http.StatusForbidden},
	{"link", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-User", "?1"}, ownHost, http.StatusForbidden},
	{"sibling site", []string{"Sec-Fetch-Site", "same-site"}, ownHost, http.StatusForbidden},
	{"rebound name", nil, "evil.example", http.StatusMisdirectedRequest},
	{"rebound name with the port", []string{"Origin", "http://evil.example:8080", "Sec-Fetch-Site", "same-origin"}, "evil.example:8080", http.StatusMisdirectedRequest},
	{"rebound address of no use", nil, "0.0.0.0:8080", http.StatusMisdirectedRequest},
}

func TestForeignPagesChangeNothing(t *testing.T) {
	t.Parallel()
	s := stock(t)
	before := s.state()
	for _, shape := range shapes {
		change := func(r *http.Request) {
			r.Host = shape.host
			for i := 0; i < len(shape.headers); i += 2 {
				r.Header.Set(shape.headers[i], shape.headers[i+1])
			}
		}
		for _, a := range append(s.acts, unseen...) {
			method, _, _ := strings.Cut(a.route, " ")
			// The pages around each path, methods that stand in for others, and the preflight.
			for _, m := range slices.Compact([]string{method, http.MethodPost, http.MethodGet, http.MethodHead, http.MethodOptions}) {
				for _, override := range []string{"", method} {
					rec := s.do(m, a.path, a.body, func(r *http.Request) {
						change(r)
						r.Header.Set("Access-Control-Request-Method", method)
						if override != "" {
							r.Header.Set("X-HTTP-Method-Override", override)
						}
					})
					isPage := m == http.MethodGet && a.path == "/" && shape.want == http.StatusForbidden && valueIn(shape.headers, "X-Amz-Target") == ""
					if rec.Code != shape.want && !isPage {
						t.Errorf("%s: %s %s = %d %s, want %d", shape.name, m, a.path, rec.Code, rec.Body, shape.want)
					}
					if allowed := rec.Header().Get("Access-Control-Allow-Origin"); allowed != "" {
						t.Errorf("%s: %s %s is open to %s", shape.name, m, a.path, allowed)
					}
				}
			}
		}
		if diff := cmp.Diff(before, s.state()); diff != "" {
			t.Fatalf("%s changed (-before +after):\n%s", shape.name, diff)
		}
	}
}

// valueIn is the value of a name in names and values in turn.
func valueIn(pairs []string, name string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == name {
			return pairs[i+1]
		}
	}
	return ""
}

// Without this, acts that do nothing anyway would prove nothing.
func TestTheSameRequestsOfOthersAct(t *testing.T) {
	t.Parallel()
	shapes := map[string][]string{
		"no browser":      nil,
		"the server's":    {"Origin", "http://" + ownHost, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"},
		"typed":           {"Sec-Fetch-Site", "none"},
		"an allowed page": {"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"},
	}
	allow := func(c *handlers.Config) { c.AllowOrigins = []string{"https://app.example"} }
	for i := range stock(t).acts {
		for name, headers := range shapes {
			s := stock(t, allow)
			a := s.acts[i]
			before := s.state()
			method, _, _ := strings.Cut(a.route, " ")
			rec := s.do(method, a.path, a.body, func(r *http.Request) {
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
			})
			if rec.Code >= http.StatusBadRequest {
				t.Errorf("%s: %s %s %s = %d %s, want it done", name, method, a.path, a.body, rec.Code, rec.Body)
			}
			if cmp.Equal(before, s.state()) {
				t.Errorf("%s: %s %s %s changed nothing that the state shows", name, method, a.path, a.body)
			}
		}
	}
}

// unseen are acts whose effect the state of [stocked] does not show. They are refused to foreign pages all the same.
var unseen = []act{
	{"POST /v1/dev/clock/step", "/v1/dev/clock/step", `{"by":"-1h"}`},
	{"DELETE /v1/tasks/{id}", "/v1/tasks/x", ""}, // only a task under way can be cancelled
}

func TestEveryRouteThatActsIsAmongTheActs(t *testing.T) {
	t.Parallel()
	s := stock(t)
	var known []string
	for _, a := range append(s.acts, unseen...) {
		known = append(known, a.route)
	}
	err := chi.Walk(handlers.Routes(s.config), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodGet && method != http.MethodHead && !slices.Contains(known, method+" "+path) {
			t.Errorf("%s %s is not held against foreign pages: add it to the acts", method, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whoever asks, and from wherever: HEAD, and GET of what is not of the SQS wire, do nothing.
func TestHeadAndNativeGetNeverAct(t *testing.T) {
	t.Parallel()
	s := stock(t)
	before := s.state()
	for _, headers := range [][]string{nil, {"Origin", "http://" + ownHost}, {"X-Amz-Target", "AmazonSQS.PurgeQueue", "Content-Type", "application/x-amz-json-1.0"}} {
		for _, a := range s.acts {
			methods := []string{http.MethodHead}
			if strings.HasPrefix(a.path, "/v1/") {
				methods = append(methods, http.MethodGet)
			}
			for _, method := range methods {
				for _, path := range []string{a.path, a.path + "&Action=PurgeQueue&QueueUrl=q", a.path + "?Action=PurgeQueue&QueueUrl=q"} {
					s.do(method, path, a.body, func(r *http.Request) {
						for i := 0; i < len(headers); i += 2 {
							r.Header.Set(headers[i], headers[i+1])
						}
						r.Header.Set("X-HTTP-Method-Override", "POST")
					})
				}
			}
		}
		if diff := cmp.Diff(before, s.state()); diff != "" {
			t.Fatalf("something changed with %q (-before +after):\n%s", headers, diff)
		}
	}
	rec := s.do(http.MethodHead, "/000000000000/q?Action=PurgeQueue", "", nil)
	if rec.Code != http.StatusMethodNotAllowed || rec.Header().Get("Allow") != "GET, POST" {
		t.Errorf("HEAD of a queue URL = %d, Allow %q, want 405 and what may be used", rec.Code, rec.Header().Get("Allow"))
	}
}

// Browsers send no fetch metadata to such an address, so an image is the same as any GET.
func TestGetChangesNothingBeyondLoopbackWithoutKeys(t *testing.T) {
	t.Parallel()
	beyond := func(c *handlers.Config) { c.Address = netip.MustParseAddrPort("0.0.0.0:8080") }
	behindProxy := func(c *handlers.Config) { c.AllowHosts = []string{"queues.lan"} }
	for _, server := range []struct {
		name, host string
		change     func(*handlers.Config)
	}{
		{"on all addresses", "192.0.2.7:8080", beyond},
		{"on all addresses, from here", ownHost, beyond},
		{"behind a proxy", "queues.lan", behindProxy},
	} {
		s := stock(t, server.change)
		at := func(headers ...string) func(*http.Request) {
			return func(r *http.Request) {
				r.Host = server.host
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
			}
		}
		before := s.state()
		for _, a := range s.acts {
			if strings.HasPrefix(a.route, "GET ") {
				for _, path := range []string{a.path, a.path + "&X-Amz-Credential=a%2F20261201%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Signature=x"} {
					rec := s.do("GET", path, "", at())
					if rec.Code != http.StatusForbidden || !strings.Contains(rec.Body.String(), "<Code>AccessDenied</Code>") {
						t.Errorf("%s: GET %s = %d %s, want AccessDenied", server.name, path, rec.Code, rec.Body)
					}
				}
			}
		}
		if diff := cmp.Diff(before, s.state()); diff != "" {
			t.Errorf("%s: a GET changed (-before +after):\n%s", server.name, diff)
		}
		for _, query := range []string{
			"Action=ListQueues", "Action=GetQueueUrl&QueueName=q", "Action=GetQueueAttributes&QueueUrl=q", "Action=ListQueueTags&QueueUrl=q",
			"Action=ListDeadLetterSourceQueues&QueueUrl=q", "Action=ListMessageMoveTasks&SourceArn=arn:aws:sqs:us-east-1:000000000000:q",
		} {
			if rec := s.do("GET", "/?"+query, "", at()); rec.Code != http.StatusOK {
				t.Errorf("%s: GET /?%s = %d %s, want it answered: it only reads", server.name, query, rec.Code, rec.Body)
			}
		}
		for _, authorization := range []string{"AWS4-HMAC-SHA256 Credential=a/20261201/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=x", "Bearer x"} {
			if rec := s.do("GET", "/?Action=SendMessage&QueueUrl=q&MessageBody=x", "", at("Authorization", authorization)); rec.Code != http.StatusOK {
				t.Errorf("%s: a signed GET = %d %s, want it done", server.name, rec.Code, rec.Body)
			}
		}
		if rec := s.do("POST", "/?Action=SendMessage&QueueUrl=q&MessageBody=x", "", at()); rec.Code != http.StatusOK {
			t.Errorf("%s: POST = %d %s, want it done", server.name, rec.Code, rec.Body)
		}
	}
}

func TestRefusalsReadAsTheClientDoes(t *testing.T) {
	t.Parallel()
	s := stock(t)
	foreign := func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }
	misdirected := func(r *http.Request) { r.Host = "evil.example" }
	target := func(next func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			next(r)
			r.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
			r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		}
	}
	for _, tt := range []struct {
		name, method, path string
		change             func(*http.Request)
		status             int
		media, has         string
	}{
		{"native", "DELETE", "/v1/queues/q", foreign, 403, "application/problem+json", `"code":"forbidden"`},
		{"native, Host", "DELETE", "/v1/queues/q", misdirected, 421, "application/problem+json", `"field":"Host"`},
		{"metrics", "GET", "/metrics", foreign, 403, "application/problem+json", "--allow-origin"},
		{"readiness", "GET", "/readyz", misdirected, 421, "application/problem+json", "--allow-host"},
		{"JSON", "POST", "/", target(foreign), 403, "application/x-amz-json-1.0", `"__type":"com.amazon.coral.service#AccessDeniedException"`},
		{"JSON, Host", "POST", "/", target(misdirected), 421, "application/x-amz-json-1.0", `InvalidAddress"`},
		{"Query", "GET", "/000000000000/q?Action=PurgeQueue", foreign, 403, "text/xml", "<Code>AccessDenied</Code>"},
		{"Query, Host", "POST", "/000000000000/q", misdirected, 421, "text/xml", "<Code>InvalidAddress</Code>"},
	} {
		rec := s.do(tt.method, tt.path, "", tt.change)
		if rec.Code != tt.status || rec.Header().Get("Content-Type") != tt.media || !strings.Contains(rec.Body.String(), tt.has) {
			t.Errorf("%s: %d %s %s, want %d %s with %s", tt.name, rec.Code, rec.Header().Get("Content-Type"), rec.Body, tt.status, tt.media, tt.has)
		}
		if rec.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s: the refusal has no request id", tt.name)
		}
	}
}

func TestPagesOpenFromAnywhere(t *testing.T) {
	t.Parallel()
	s := stock(t)
	link := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	}
	for path, want := range map[string]int{
		"/": 200, "/?utm_source=blog": 200, "/docs": 200, "/docs/swagger-ui.css": 200, "/openapi.json": 200, "/guide/": 404, "/console/": 404, "/console/queues/q": 404,
		"/v1/queues": 403, "/healthz": 403, "/readyz": 403, "/metrics": 403, "/docsx": 403, "/v1/queues?x=/docs/": 403, "//": 403,
		"/?Action=ListQueues": 403, "/docs/?Action=ListQueues": 403, "/console/q?Action=PurgeQueue": 403, "/?X-Amz-Signature=x": 403,
	} {
		if rec := s.do("GET", path, "", link); rec.Code != want {
			t.Errorf("a link to %s = %d, want %d", path, rec.Code, want)
		}
	}
	// What the page at /docs does is of the server's own origin.
	own := func(r *http.Request) {
		r.Host = "localhost:8080"
		r.Header.Set("Origin", "http://localhost:8080")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if rec := s.do("POST", "/v1/queues/q/messages", `{"body":"x"}`, own); rec.Code != http.StatusOK {
		t.Errorf("the form of /docs = %d %s, want 200", rec.Code, rec.Body)
	}
}

func TestTheAdminAddressIsGuarded(t *testing.T) {
	t.Parallel()
	s := stock(t)
	s.handler = handlers.NewAdmin(s.config)
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		for _, tt := range []struct {
			name, host, origin string
			want               int
		}{
			{"own", ownHost, "", 200}, {"rebound", "evil.example", "", 421}, {"foreign", ownHost, "https://evil.example", 403},
		} {
			rec := s.do("GET", path, "", func(r *http.Request) {
				r.Host = tt.host
				if tt.origin != "" {
					r.Header.Set("Origin", tt.origin)
				}
			})
			if rec.Code != tt.want {
				t.Errorf("%s: GET %s = %d, want %d", tt.name, path, rec.Code, tt.want)
			}
		}
	}
}
