// Package handlerstest starts a whole server for tests: the memory store, the engine and the handlers on a loopback
// address. Every answer it gives to a [Server]'s own client is checked against the OpenAPI document.
package handlerstest

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/handlers/problem"
	"github.com/dabba-mq/dabba/handlers/rest"
	"github.com/dabba-mq/dabba/openapi/openapitest"
	"github.com/dabba-mq/dabba/store/memory"
)

// Server is one running server and a client for it.
type Server struct {
	Store  *memory.Store
	Engine *engine.Engine
	Config handlers.Config
	HTTP   *http.Server
	// URL has no slash at its end.
	URL string
	// Log is what the server logged.
	Log *Log

	t      testing.TB
	client *http.Client
}

// Start runs a server until the test ends. Each change may alter its configuration before it starts.
func Start(tb testing.TB, changes ...func(*handlers.Config)) *Server {
	tb.Helper()
	counted := metrics.New()
	store := memory.New(memory.Options{Now: time.Now})
	log := &Log{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.Open(tb.Context(), store, engine.Options{
		Now:    time.Now,
		Rand:   rand.Reader,
		Events: handlers.Audit(logger, counted.Events()),
	})
	if err != nil {
		tb.Fatalf("open the engine: %v", err)
	}
	counted.Show(e.AllQueues)
	config := handlers.Config{
		Engine:    e,
		Metrics:   counted,
		Log:       logger,
		Readiness: &rest.Readiness{},
		Version:   "0.0.0-test",
	}
	for _, change := range changes {
		change(&config)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			tb.Errorf("close the engine: %v", err)
		}
	})
	srv := Run(tb, handlers.NewServer(handlers.New(config), slog.New(slog.DiscardHandler), config.Memory))
	tb.Cleanup(e.Drain)
	srv.Store, srv.Engine, srv.Config, srv.Log = store, e, config, log
	return srv
}

// Serve runs a server for any handler until the test ends. It has neither engine nor log.
func Serve(tb testing.TB, h http.Handler) *Server {
	tb.Helper()
	return Run(tb, handlers.NewServer(h, slog.New(slog.DiscardHandler), nil))
}

// Run is Serve for a server whose limits are of the test's own making.
func Run(tb testing.TB, server *http.Server) *Server {
	tb.Helper()
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = server
	ts.Start()
	tb.Cleanup(ts.Close)
	return &Server{
		HTTP:   server,
		URL:    ts.URL,
		t:      tb,
		client: &http.Client{Transport: validator(tb).Transport(ts.Client().Transport, func(err error) { tb.Error(err) })},
	}
}

var loaded struct {
	sync.Once
	validator *openapitest.Validator
	err       error
}

func validator(tb testing.TB) *openapitest.Validator {
	tb.Helper()
	loaded.Do(func() { loaded.validator, loaded.err = openapitest.New(context.Background()) })
	if loaded.err != nil {
		tb.Fatal(loaded.err)
	}
	return loaded.validator
}

// HTTPClient is the checking client, for requests that the methods below cannot make.
func (s *Server) HTTPClient() *http.Client { return s.client }

// For is the same server in a subtest.
func (s *Server) For(tb testing.TB) *Server {
	sub := *s
	sub.t = tb
	return &sub
}

// Get makes one request, like Put, Patch, Post and Delete, whose bodies are JSON unless the headers name another Content-Type;
// headers are name and value in turn. An empty Content-Type is none.
func (s *Server) Get(path string, headers ...string) *Answer {
	s.t.Helper()
	return s.Do(http.MethodGet, path, "", headers...)
}

// Put is documented at Get.
func (s *Server) Put(path, body string, headers ...string) *Answer {
	s.t.Helper()
	return s.Do(http.MethodPut, path, body, headers...)
}

// Patch is documented at Get.
func (s *Server) Patch(path, body string, headers ...string) *Answer {
	s.t.Helper()
	return s.Do(http.MethodPatch, path, body, headers...)
}

// Post is documented at Get.
func (s *Server) Post(path, body string, headers ...string) *Answer {
	s.t.Helper()
	return s.Do(http.MethodPost, path, body, headers...)
}

// Delete is documented at Get.
func (s *Server) Delete(path string, headers ...string) *Answer {
	s.t.Helper()
	return s.Do(http.MethodDelete, path, "", headers...)
}

// Do makes one request and reads the whole answer.
func (s *Server) Do(method, path, body string, headers ...string) *Answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	switch given := r.Header["Content-Type"]; {
	case len(given) == 0 && body != "":
		r.Header.Set("Content-Type", "application/json")
	case len(given) == 1 && given[0] == "":
		r.Header.Del("Content-Type")
	}
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return &Answer{
		Status: res.StatusCode,
		Header: res.Header,
		Body:   content,
		t:      s.t,
		call:   method + " " + path + " " + abridge(body),
	}
}

// Answer is one answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	t    testing.TB
	call string
}

// Want stops the test unless the answer has the status.
func (a *Answer) Want(status int) *Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s\n answered %d, want %d\n %s", a.call, a.Status, status, abridge(string(a.Body)))
	}
	return a
}

// Refused stops the test unless the answer is a problem with the status, code and field.
func (a *Answer) Refused(status int, code engine.Code, field string) *Answer {
	a.t.Helper()
	a.Want(status)
	var p problem.Document
	a.Decode(&p)
	if p.Status != status || p.Code != code || p.Field != field || p.Detail == "" {
		a.t.Fatalf("%s\n refused with status %d, code %s, field %q, detail %q\n want status %d, code %s, field %q",
			a.call, p.Status, p.Code, p.Field, p.Detail, status, code, field)
	}
	return a
}

// Decode reads the answer's JSON into v.
func (a *Answer) Decode(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		a.t.Fatalf("%s\n answered %s\n which does not decode: %v", a.call, abridge(string(a.Body)), err)
	}
}

// Has stops the test unless the answer's body contains the text.
func (a *Answer) Has(text string) *Answer {
	a.t.Helper()
	if !bytes.Contains(a.Body, []byte(text)) {
		a.t.Fatalf("%s\n answered %s\n want it to contain %s", a.call, abridge(string(a.Body)), text)
	}
	return a
}

// Lacks stops the test if the answer's body contains the text.
func (a *Answer) Lacks(text string) *Answer {
	a.t.Helper()
	if bytes.Contains(a.Body, []byte(text)) {
		a.t.Fatalf("%s\n answered %s\n want it not to contain %s", a.call, abridge(string(a.Body)), text)
	}
	return a
}

func abridge(s string) string {
	const most = 500
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// Log collects what a server logs.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
