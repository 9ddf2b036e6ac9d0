package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/openapi/openapitest"
)

// client speaks HTTP to one server. Its connections are its own, and each answer is compared with the OpenAPI document.
type client struct {
	t      testing.TB
	base   string
	header http.Header
	http   *http.Client
}

// document is loaded once for all tests.
var document = sync.OnceValues(func() (*openapitest.Validator, error) { return openapitest.New(context.Background()) })

// client returns one for the server.
func (s *server) client() *client {
	s.t.Helper()
	validator, err := document()
	if err != nil {
		s.t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &client{
		t:    s.t,
		base: s.base,
		http: &http.Client{Transport: validator.Transport(transport, func(err error) { s.t.Error(err) })},
	}
}

// with returns a client that sends these headers, too.
func (c *client) with(nameValues ...string) *client {
	clone := *c
	clone.header = c.header.Clone()
	if clone.header == nil {
		clone.header = make(http.Header)
	}
	for i := 0; i < len(nameValues); i += 2 {
		clone.header.Set(nameValues[i], nameValues[i+1])
	}
	return &clone
}

// answer is what came back.
type answer struct {
	t       testing.TB
	request string
	status  int
	header  http.Header
	body    []byte
}

// try sends a request; the error is that of the connection.
func (c *client) try(ctx context.Context, method, path, body string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, c.header)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return &answer{c.t, method + " " + path, res.StatusCode, res.Header, content}, nil
}

// do sends a request that must be answered.
func (c *client) do(method, path, body string) *answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), patience) // cleanups ask, too
	defer cancel()
	a, err := c.try(ctx, method, path, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c *client) get(path string) *answer { c.t.Helper(); return c.do(http.MethodGet, path, "") }
func (c *client) put(path, body string) *answer {
	c.t.Helper()
	return c.do(http.MethodPut, path, body)
}

func (c *client) post(path, body string) *answer {
	c.t.Helper()
	return c.do(http.MethodPost, path, body)
}

// want ends the test on another status.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s = %d, want %d:\n%.2000s", a.request, a.status, status, a.body)
	}
	return a
}

// into decodes the body.
func (a *answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%s answered %.2000s: %v", a.request, a.body, err)
	}
}

// problem is an answer that refuses.
type problem struct {
	Code, Detail, Field, Outcome string
}

// refused ends the test unless the answer is a problem with this status and code.
func (a *answer) refused(status int, code string) problem {
	a.t.Helper()
	a.want(status)
	var p problem
	a.into(&p)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" || p.Code != code || p.Detail == "" {
		a.t.Fatalf("%s answered %s %s, want a problem with code %s", a.request, got, a.body, code)
	}
	return p
}

// message is a delivery.
type message struct {
	ID, Receipt string
	Body        *string
	BodyBase64  []byte            `json:"body_base64"`
	ContentType string            `json:"content_type"`
	Attributes  map[string]string `json:"attributes"`
	Receives    int
	TraceParent string
	Group       string
	DedupID     string `json:"dedup_id"`
	Sequence    uint64
	State       string // of a message that was browsed
	Lease       struct {
		Token     uint64
		ExpiresAt time.Time `json:"expires_at"`
	}
	Origin *struct {
		Queue, Reason string
		Receives      int
	}
}

// content is the body in whichever form it came.
func (m *message) content() []byte {
	if m.Body != nil {
		return []byte(*m.Body)
	}
	return m.BodyBase64
}

type received struct{ Messages []message }

// counts are those of a queue.
type counts struct{ Ready, Leased, Delayed, Dead, Bytes int64 }

func (c *client) create(queue, config string) {
	c.t.Helper()
	c.put("/v1/queues/"+queue, config).want(http.StatusCreated)
}

func (c *client) counts(queue string) counts {
	c.t.Helper()
	var q struct{ Counts counts }
	c.get("/v1/queues/" + queue).want(http.StatusOK).into(&q)
	return q.Counts
}

// send sends one text and returns its id.
func (c *client) send(queue, body string) string {
	c.t.Helper()
	var sent struct{ ID string }
	c.post("/v1/queues/"+queue+"/messages", `{"body":`+quote(body)+`}`).want(http.StatusOK).into(&sent)
	return sent.ID
}

// receive asks for messages; the request is JSON.
func (c *client) receive(queue, request string) []message {
	c.t.Helper()
	var got received
	c.post("/v1/queues/"+queue+"/receive", request).want(http.StatusOK).into(&got)
	return got.Messages
}

// settle acks, nacks or extends, and wants every item to succeed.
func (c *client) settle(queue, verb, request string) {
	c.t.Helper()
	var done struct {
		Results []struct{ OK bool }
	}
	a := c.post("/v1/queues/"+queue+"/"+verb, request).want(http.StatusOK)
	a.into(&done)
	for _, result := range done.Results {
		if !result.OK {
			c.t.Fatalf("%s: %s", a.request, a.body)
		}
	}
}

// gauge reads one number from /metrics.
func (c *client) gauge(name string) float64 {
	c.t.Helper()
	for line := range bytes.Lines(c.get("/metrics").want(http.StatusOK).body) {
		var v float64
		if rest, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			if _, err := fmt.Sscan(string(rest), &v); err != nil {
				c.t.Fatalf("metric %s: %v", line, err)
			}
			return v
		}
	}
	c.t.Fatalf("there is no metric %s", name)
	return 0
}

// eventually polls what another process does until it is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// quote writes s as JSON.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
