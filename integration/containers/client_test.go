package containers

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

// client speaks HTTP to one node. Each answer is compared with the OpenAPI document.
type client struct {
	t      *testing.T
	base   string
	header http.Header
	http   *http.Client
}

// document is loaded once for all tests.
var document = sync.OnceValues(func() (*openapitest.Validator, error) { return openapitest.New(context.Background()) })

func clientOf(t *testing.T, n node) *client {
	t.Helper()
	validator, err := document()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, base: n.base(), http: &http.Client{Transport: validator.Transport(transport, func(err error) { t.Error(err) })}}
}

// with returns a client that sends a header, too.
func (c *client) with(name, value string) *client {
	clone := *c
	clone.header = maps.Clone(c.header)
	if clone.header == nil {
		clone.header = make(http.Header)
	}
	clone.header.Set(name, value)
	return &clone
}

// answer is what came back.
type answer struct {
	t       *testing.T
	request string
	status  int
	header  http.Header
	body    []byte
	took    time.Duration
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
	begun := time.Now()
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return &answer{c.t, method + " " + path, res.StatusCode, res.Header, content, time.Since(begun)}, nil
}

// do sends a request that must be answered.
func (c *client) do(method, path, body string) *answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	a, err := c.try(ctx, method, path, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c *client) get(path string) *answer { c.t.Helper(); return c.do(http.MethodGet, path, "") }

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
type problem struct{ Code, Detail, Outcome string }

func (a *answer) problem() problem {
	a.t.Helper()
	var p problem
	a.into(&p)
	return p
}

// message is a delivery.
type message struct {
	ID, Receipt, Body, Group string
	Receives                 int
	Lease                    struct {
		ExpiresAt time.Time `json:"expires_at"`
	}
}

type received struct{ Messages []message }

func (c *client) create(queue, config string) {
	c.t.Helper()
	c.do(http.MethodPut, "/v1/queues/"+queue, config).want(http.StatusCreated)
}

func (c *client) send(queue, body string) {
	c.t.Helper()
	c.post("/v1/queues/"+queue+"/messages", `{"body":"`+body+`"}`).want(http.StatusOK)
}

func (c *client) receive(queue, request string) []message {
	c.t.Helper()
	var got received
	c.post("/v1/queues/"+queue+"/receive", request).want(http.StatusOK).into(&got)
	return got.Messages
}

// ack wants each message to be acked.
func (c *client) ack(queue string, messages []message) {
	c.t.Helper()
	a := c.post("/v1/queues/"+queue+"/ack", `{"receipts":`+receipts(messages)+`}`).want(http.StatusOK)
	var done struct{ Results []struct{ OK bool } }
	a.into(&done)
	for _, r := range done.Results {
		if !r.OK {
			c.t.Fatalf("%s: %s", a.request, a.body)
		}
	}
}

// receipts writes those of messages as JSON.
func receipts(messages []message) string {
	all := make([]string, 0, len(messages))
	for i := range messages {
		all = append(all, messages[i].Receipt)
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// counts are those of a queue.
type counts struct{ Ready, Leased, Delayed, Dead int64 }

func (c *client) counts(queue string) counts {
	c.t.Helper()
	var q struct{ Counts counts }
	c.get("/v1/queues/" + queue).want(http.StatusOK).into(&q)
	return q.Counts
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

// poll sends a receive that waits, and returns once it does.
func (c *client) poll(queue string) <-chan *answer {
	c.t.Helper()
	got := make(chan *answer, 1)
	before := c.gauge("dabba_waiting_receives")
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	go func() {
		a, err := c.try(ctx, http.MethodPost, "/v1/queues/"+queue+"/receive?wait=50s", "")
		if err != nil {
			c.t.Errorf("a receive that waits: %v", err)
		}
		got <- a
	}()
	eventually(c.t, "the receive to wait", func() bool { return c.gauge("dabba_waiting_receives") > before })
	return got
}

// polled wants a receive that waited to have got one message.
func polled(t *testing.T, got <-chan *answer, body string) {
	t.Helper()
	a := <-got
	if a == nil {
		t.FailNow()
	}
	var r received
	a.want(http.StatusOK).into(&r)
	if len(r.Messages) != 1 || r.Messages[0].Body != body {
		t.Fatalf("the receive that waited got %s, want %s", a.body, body)
	}
}

// eventually polls what another process does until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// awaitReady returns when a node says that it is ready.
func awaitReady(t *testing.T, base string) {
	t.Helper()
	once := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	eventually(t, base+" to be ready", func() bool {
		res, err := once.Get(base + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}
