package sqs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
	"github.com/dabba-mq/dabba/handlers/middleware"
	"github.com/dabba-mq/dabba/handlers/sqs"
	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store/memory"
)

// params are the parameters of a request, or the members of an answer, as they are in JSON.
type params = map[string]any

// attrs are attributes of a queue, or tags.
type attrs = map[string]string

// server is the wire on a memory store and an engine, called without a network, so that it also works in a bubble of
// testing/synctest. Its clock is the real one, put forward by advance.
type server struct {
	t       *testing.T
	engine  *engine.Engine
	handler http.Handler
	ahead   *atomic.Int64
	// host is what requests are sent to, and scope the region they are signed for; empty for unsigned ones.
	host, scope string
	// queries says that do speaks Query instead of JSON.
	queries bool
}

// start runs the wire until the test ends. Each change may alter its configuration.
func start(t *testing.T, changes ...func(*sqs.Config)) *server {
	t.Helper()
	s := &server{t: t, ahead: new(atomic.Int64), host: "sqs.test:8080"}
	e, err := engine.Open(t.Context(), memory.New(memory.Options{Now: s.now}), engine.Options{Now: s.now, Rand: rand.Reader})
	if err != nil {
		t.Fatalf("open the engine: %v", err)
	}
	t.Cleanup(func() {
		e.Drain()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	config := sqs.Config{
		Engine: e,
		Log:    log,
		Now:    s.now,
		Exchange: &exchange.Exchange{
			Budget: memlimit.New(memlimit.Usual),
			Log:    log,
			Now:    s.now,
		},
	}
	for _, change := range changes {
		change(&config)
	}
	observer := middleware.Observer{Log: log, IDs: middleware.NewIDs(rand.Reader), Now: s.now}
	s.engine, s.handler = e, observer.Wrap(sqs.New(config))
	return s
}

// both runs a test on a new server for each protocol, which do of the server then speaks.
func both(t *testing.T, test func(t *testing.T, s *server), changes ...func(*sqs.Config)) {
	t.Helper()
	for _, queries := range []bool{false, true} {
		name := "JSON"
		if queries {
			name = "Query"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, changes...)
			s.queries = queries
			test(t, s)
		})
	}
}

// now is the time of the server.
func (s *server) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// advance puts the server's clock forward.
func (s *server) advance(d time.Duration) {
	s.ahead.Add(int64(d))
	s.engine.ClockChanged()
}

// region is the same server, asked for another region.
func (s *server) region(name string) *server {
	other := *s
	other.scope = name
	return &other
}

// do makes a request in the protocol of the test.
func (s *server) do(operation string, in params) *answer {
	s.t.Helper()
	if s.queries {
		return s.query(operation, in)
	}
	return s.json(operation, in)
}

// json makes a request in the JSON protocol.
func (s *server) json(operation string, in params) *answer {
	s.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Fatalf("%s: %v", operation, err)
	}
	return s.rawJSON(operation, "/", string(body))
}

// rawJSON makes a request in the JSON protocol with a body that need not be right.
func (s *server) rawJSON(operation, path, body string) *answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	return s.send(r)
}

// query makes the same request as json in the Query protocol.
func (s *server) query(operation string, in params) *answer {
	s.t.Helper()
	form := url.Values{"Action": {operation}, "Version": {"2012-11-05"}}
	flatten(s.t, form, operation, "", in)
	return s.form("/", form)
}

// form posts parameters of the Query protocol.
func (s *server) form(path string, form url.Values) *answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return s.send(r)
}

// get asks by the URL alone; headers are name and value in turn.
func (s *server) get(path string, headers ...string) *answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.send(r)
}

// send makes any request.
func (s *server) send(r *http.Request) *answer {
	s.t.Helper()
	r.Host = s.host
	if s.scope != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261129/"+s.scope+
			"/sqs/aws4_request, SignedHeaders=host;x-amz-date, Signature="+strings.Repeat("0", 64))
		r.Header.Set("X-Amz-Date", s.now().UTC().Format("20060102T150405Z"))
	}
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			s.t.Fatalf("read the request: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, r)
	return &answer{
		t:      s.t,
		call:   r.Method + " " + r.URL.String() + " " + r.Header.Get("X-Amz-Target") + " " + abridge(string(sent)),
		status: rec.Code,
		header: rec.Result().Header,
		body:   rec.Body.Bytes(),
	}
}

// queue creates a queue and returns its URL.
func (s *server) queue(name string, attributes attrs) string {
	s.t.Helper()
	in := params{"QueueName": name}
	if len(attributes) > 0 {
		in["Attributes"] = attributes
	}
	return s.do("CreateQueue", in).ok().text("QueueUrl")
}

// answer is what came back.
type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   []byte
}

// members are those of an answer.
type members params

// ok stops the test unless the request succeeded, and returns the answer's members as they are in JSON, whatever the
// protocol was.
func (a *answer) ok() members {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("%s\n answered %d %s\n want 200", a.call, a.status, abridge(string(a.body)))
	}
	if a.isXML() {
		return members(a.element().members(a.t))
	}
	var m members
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("%s\n answered %s\n which is no JSON object: %v", a.call, abridge(string(a.body)), err)
	}
	return m
}

// refused stops the test unless the request was refused with the code of the Query protocol and the message; an empty
// message may be any.
func (a *answer) refused(status int, code, message string) {
	a.t.Helper()
	var gotCode, gotMessage string
	if a.isXML() {
		root := a.element()
		failure := root.child("Error")
		gotCode, gotMessage = failure.child("Code").Text, failure.child("Message").Text
	} else {
		var m members
		if err := json.Unmarshal(a.body, &m); err != nil {
			a.t.Fatalf("%s\n answered %d %s\n which is no JSON object: %v", a.call, a.status, abridge(string(a.body)), err)
		}
		gotCode, _, _ = strings.Cut(a.header.Get("X-Amzn-Query-Error"), ";")
		gotMessage = m.text("message")
	}
	if a.status != status || gotCode != code || message != "" && gotMessage != message {
		a.t.Fatalf("%s\n answered %d %q %q\n want     %d %q %q", a.call, a.status, gotCode, gotMessage, status, code, message)
	}
}

// shape is the name of a fault in the JSON protocol.
func (a *answer) shape() string {
	a.t.Helper()
	var m struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("%s\n answered %s\n which is no JSON object: %v", a.call, abridge(string(a.body)), err)
	}
	_, shape, _ := strings.Cut(m.Type, "#")
	return shape
}

// has stops the test unless the answer contains the text.
func (a *answer) has(text string) *answer {
	a.t.Helper()
	if !bytes.Contains(a.body, []byte(text)) {
		a.t.Fatalf("%s\n answered %s\n want it to contain %s", a.call, abridge(string(a.body)), text)
	}
	return a
}

func (a *answer) isXML() bool { return strings.HasPrefix(a.header.Get("Content-Type"), "text/xml") }

func (a *answer) element() element {
	a.t.Helper()
	var root element
	if err := xml.Unmarshal(a.body, &root); err != nil {
		a.t.Fatalf("%s\n answered %s\n which is no XML: %v", a.call, abridge(string(a.body)), err)
	}
	return root
}

// text is a member that is a string; empty if there is none.
func (m members) text(name string) string {
	s, _ := m[name].(string)
	return s
}

// list is a member that is a list of objects; empty if there is none.
func (m members) list(name string) []members {
	entries, _ := m[name].([]any)
	var list []members
	for _, entry := range entries {
		o, _ := entry.(map[string]any)
		list = append(list, o)
	}
	return list
}

// texts is a member that is a list of strings; empty if there is none.
func (m members) texts(name string) []string {
	entries, _ := m[name].([]any)
	var list []string
	for _, entry := range entries {
		s, _ := entry.(string)
		list = append(list, s)
	}
	return list
}

// object is a member that is an object; empty if there is none.
func (m members) object(name string) members {
	o, _ := m[name].(map[string]any)
	return o
}

// want stops the test unless the members are these.
func (m members) want(t *testing.T, want params) {
	t.Helper()
	if diff := cmp.Diff(want, params(m)); diff != "" {
		t.Fatalf("members (-want +got):\n%s", diff)
	}
}

// What lists and maps of requests are called in the Query protocol.
var (
	flatLists = attrs{
		"AttributeNames":              "AttributeName",
		"MessageSystemAttributeNames": "MessageSystemAttributeName",
		"MessageAttributeNames":       "MessageAttributeName",
		"TagKeys":                     "TagKey",
		"AWSAccountIds":               "AWSAccountId",
		"Actions":                     "ActionName",
		"StringListValues":            "StringListValue",
		"BinaryListValues":            "BinaryListValue",
	}
	flatMaps = map[string][3]string{
		"Attributes":              {"Attribute", "Name", "Value"},
		"Tags":                    {"Tag", "Key", "Value"},
		"tags":                    {"Tag", "Key", "Value"},
		"MessageAttributes":       {"MessageAttribute", "Name", "Value"},
		"MessageSystemAttributes": {"MessageSystemAttribute", "Name", "Value"},
	}
)

// flatten writes a value of a JSON request as parameters of the Query protocol.
func flatten(t *testing.T, form url.Values, operation, prefix string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	flattenPlain(form, operation, prefix, plain)
}

func flattenPlain(form url.Values, operation, prefix string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			form.Set(prefix, fmt.Sprint(value))
		}
		return
	}
	if prefix != "" {
		prefix += "."
	}
	for name, member := range object {
		switch entries := member.(type) {
		case []any:
			flat := flatLists[name]
			if name == "Entries" {
				flat = operation + "RequestEntry"
			}
			for i, entry := range entries {
				flattenPlain(form, operation, prefix+flat+"."+strconv.Itoa(i+1), entry)
			}
		case map[string]any:
			flat, ok := flatMaps[name]
			if !ok {
				flattenPlain(form, operation, prefix+name, entries)
				continue
			}
			n := 0
			for key, entry := range entries {
				n++
				at := prefix + flat[0] + "." + strconv.Itoa(n) + "."
				form.Set(at+flat[1], key)
				flattenPlain(form, operation, at+flat[2], entry)
			}
		default:
			flattenPlain(form, operation, prefix+name, member)
		}
	}
}

// element is any element of XML.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (e element) child(name string) element {
	for _, c := range e.Children {
		if c.XMLName.Local == name {
			return c
		}
	}
	return element{}
}

// members are those of an answer in JSON that says what e, the root of an answer in XML, says.
func (e element) members(t *testing.T) params {
	t.Helper()
	operation := strings.TrimSuffix(e.XMLName.Local, "Response")
	if e.child("ResponseMetadata").child("RequestId").Text == "" {
		t.Fatalf("the answer %s has no request id", e.XMLName.Local)
	}
	return e.child(operation + "Result").object()
}

func (e element) object() params {
	out := params{}
	add := func(list string, entry any) {
		entries, _ := out[list].([]any)
		out[list] = append(entries, entry)
	}
	put := func(object, key string, entry any) {
		if out[object] == nil {
			out[object] = params{}
		}
		entries, _ := out[object].(params)
		entries[key] = entry
	}
	for _, c := range e.Children {
		name := c.XMLName.Local
		switch {
		case name == "QueueUrl" && e.XMLName.Local == "ListQueuesResult":
			add("QueueUrls", c.Text)
		case name == "QueueUrl" && e.XMLName.Local == "ListDeadLetterSourceQueuesResult":
			add("queueUrls", c.Text)
		case name == "Message" && e.XMLName.Local == "ReceiveMessageResult":
			add("Messages", c.object())
		case name == "ListMessageMoveTasksResultEntry":
			add("Results", c.object())
		case name == "BatchResultErrorEntry":
			add("Failed", c.object())
		case strings.HasSuffix(name, "BatchResultEntry"):
			add("Successful", c.object())
		case name == "Attribute":
			put("Attributes", c.child("Name").Text, c.child("Value").Text)
		case name == "Tag":
			put("Tags", c.child("Key").Text, c.child("Value").Text)
		case name == "MessageAttribute":
			put("MessageAttributes", c.child("Name").Text, c.child("Value").object())
		case name == "SenderFault":
			out[name] = c.Text == "true"
		case slices.Contains(numbers, name):
			n, _ := strconv.ParseFloat(c.Text, 64)
			out[name] = n
		default:
			out[name] = c.Text
		}
	}
	return out
}

// numbers are the members of answers that are numbers in JSON.
var numbers = []string{
	"ApproximateNumberOfMessagesMoved",
	"ApproximateNumberOfMessagesToMove",
	"MaxNumberOfMessagesPerSecond",
	"StartedTimestamp",
}

func abridge(s string) string {
	const most = 2000
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
