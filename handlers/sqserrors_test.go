package handlers_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
)

// sqsClient is how a client of SQS labels its requests.
type sqsClient struct {
	name    string
	json    bool
	headers []string
	query   string // follows the path
	body    string
}

var sqsClients = []sqsClient{
	{"JSON", true, []string{"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "AmazonSQS.ReceiveMessage"}, "", `{"QueueUrl":"none"}`},
	{"plain JSON", true, []string{"Content-Type", "application/json", "x-amz-target", "AmazonSQS.ReceiveMessage"}, "", `{"QueueUrl":"none"}`},
	{"a form", false, []string{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}, "", "Action=ReceiveMessage&QueueUrl=none"},
	{"a form with a target", false, []string{"Content-Type", "application/x-www-form-urlencoded", "X-Amz-Target", "AmazonSQS.ReceiveMessage"}, "", "Action=ReceiveMessage&QueueUrl=none"},
	{"a URL", false, nil, "?Action=ReceiveMessage&QueueUrl=none", ""},
}

// sqsAnswer is an answer that was read.
type sqsAnswer struct {
	status int
	header http.Header
	body   []byte
}

// wantSQSError checks that an answer is an error that the client can read.
func wantSQSError(t *testing.T, c *sqsClient, call string, res sqsAnswer) {
	t.Helper()
	body := res.body
	if res.status < 400 {
		t.Errorf("%s: %s answered %d %s, want an error", c.name, call, res.status, body)
	}
	id, code := res.header.Get("X-Amzn-Requestid"), res.header.Get("X-Amzn-Query-Error")
	if id == "" || !strings.HasSuffix(code, ";Sender") && !strings.HasSuffix(code, ";Receiver") {
		t.Errorf("%s: %s answered %d with the request id %q and the code %q", c.name, call, res.status, id, code)
	}
	if c.json {
		var m struct {
			Type    string `json:"__type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(body, &m) != nil || !strings.Contains(m.Type, "#") || m.Message == "" ||
			res.header.Get("Content-Type") != "application/x-amz-json-1.0" {
			t.Errorf("%s: %s answered %d %s %s, want an error in JSON", c.name, call, res.status, res.header.Get("Content-Type"), body)
		}
		return
	}
	var m struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Code      string   `xml:"Error>Code"`
		Message   string   `xml:"Error>Message"`
		RequestID string   `xml:"RequestId"`
	}
	if err := xml.Unmarshal(body, &m); err != nil || m.Code == "" || m.Message == "" || m.RequestID != id {
		t.Errorf("%s: %s answered %d %s, want an error in XML", c.name, call, res.status, body)
	}
}

func (c *sqsClient) do(t *testing.T, method, url, body string) sqsAnswer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+c.query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(c.headers); i += 2 {
		r.Header.Set(c.headers[i], c.headers[i+1])
	}
	res, err := (&http.Client{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return sqsAnswer{res.StatusCode, res.Header, content}
}

func TestClientsOfSQSGetErrorsInTheirProtocol(t *testing.T) {
	t.Parallel()
	open := handlerstest.Start(t)
	locked, _ := withKeys(t)
	broken := handlerstest.Start(t, func(c *handlers.Config) { c.Engine = nil }) // so that handlers panic
	for i := range sqsClients {
		c := &sqsClients[i]
		for _, path := range []string{
			"/", "//", "/000000000000/none", "/queue/none", "/none", "/a/b/c/none/", "/v1", "/v1/", "/v1/nothing", "/docsx", "/000000000000/",
		} {
			for name, srv := range map[string]*handlerstest.Server{"open": open, "locked": locked, "broken": broken} {
				wantSQSError(t, c, name+" POST "+path, c.do(t, http.MethodPost, srv.URL+path, c.body))
			}
			if c.query != "" {
				wantSQSError(t, c, "GET "+path, c.do(t, http.MethodGet, open.URL+path, ""))
				wantSQSError(t, c, "locked GET "+path, c.do(t, http.MethodGet, locked.URL+path, ""))
			}
		}
		if c.json || c.query != "" || len(c.headers) > 2 { // a form without a target may be of a native client here
			for _, path := range []string{"/", "/000000000000/none", "/queue/none", "/v1/nothing"} {
				wantSQSError(t, c, "PUT "+path, c.do(t, http.MethodPut, open.URL+path, c.body))
			}
		}
		if len(c.headers) > 2 {
			for _, path := range []string{"/v1/queues/none/messages", "/v1/receive", "/v1/queues", "/metrics", "/docs"} {
				wantSQSError(t, c, "POST "+path, c.do(t, http.MethodPost, open.URL+path, c.body))
				wantSQSError(t, c, "locked POST "+path, c.do(t, http.MethodPost, locked.URL+path, c.body))
			}
		}
		if c.query == "" {
			wantSQSError(t, c, "too much", c.do(t, http.MethodPost, open.URL+"/queue/none", c.body+strings.Repeat(" ", 16<<20)))
		}
	}
}

// Requests that no client of SQS sends are answered by the native API, at its paths and at those that nobody has.
func TestNativeClientsGetProblems(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	for _, tc := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"GET", "/nothing", "", nil, 404},
		{"GET", "/000000000000", "", nil, 404},
		{"GET", "/v1/nothing", "", []string{"Accept", "text/xml"}, 404},
		{"POST", "/queues/q/messages", `{"body":"x"}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 404},
		{"POST", "/queues/q/messages", `{"body":"x"}`, []string{"Content-Type", "application/json"}, 404},
		{"POST", "/queues/q/messages", `{"body":"x"}`, nil, 404},
		{"POST", "/v1/queues/q/messages", `{"body":"x"}`, []string{"Content-Type", "application/x-amz-json-1.0"}, 404},
		{"POST", "/v1/queues/none/receive?Action=ReceiveMessage", "", nil, 400},
		{"POST", "/v1/nothing", `{"body":"x"}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 404},
		{"POST", "/v1/nothing", "", nil, 404},
		{"PUT", "/000000000000/q", "", nil, 405},
		{"DELETE", "/v1/queues", "", nil, 405},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tc.method, srv.URL+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(tc.headers); i += 2 {
			r.Header.Set(tc.headers[i], tc.headers[i+1])
		}
		res, err := (&http.Client{}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != tc.status || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s answered %d %s %s (%v), want a problem with %d", tc.method, tc.path, res.StatusCode,
				res.Header.Get("Content-Type"), body, err, tc.status)
		}
	}
}

func TestTheAdminAddressHasNoSQS(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	admin := handlerstest.Serve(t, handlers.NewAdmin(srv.Config))
	for i := range sqsClients {
		res := sqsClients[i].do(t, http.MethodPost, admin.URL+"/000000000000/q", sqsClients[i].body)
		if res.status != http.StatusNotFound || res.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: the admin address answered %d %s", sqsClients[i].name, res.status, res.header.Get("Content-Type"))
		}
	}
}
