package middleware_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/middleware"
)

var start = time.Date(2026, 11, 29, 16, 50, 0, 0, time.UTC)

// observe answers one request with h under an observer that logs from the given level on.
func observe(t *testing.T, level slog.Level, r *http.Request, h http.HandlerFunc) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	now := start
	o := middleware.Observer{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})),
		IDs: middleware.NewIDs(strings.NewReader("random")),
		Now: func() time.Time {
			now = now.Add(time.Second)
			return now
		},
	}
	rec := httptest.NewRecorder()
	o.Wrap(h).ServeHTTP(rec, r)
	return rec, log.String()
}

func get(id string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/queues/q?secret=1", nil)
	if id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	return r
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fine")) }

func TestEveryAnswerHasARequestID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, given, want string }{
		{"none given", "", "72616e646f6d-1"},
		{"a sane one", "client/42:a", "client/42:a"},
		{"one with spaces", "a b", "72616e646f6d-1"},
		{"one that would break a log line", "a\x1b[2J", "72616e646f6d-1"},
		{"one in quotes", `"a"`, "72616e646f6d-1"},
		{"a long one", strings.Repeat("x", 129), "72616e646f6d-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rec, _ := observe(t, slog.LevelInfo, get(tc.given), ok)
			if got := rec.Header().Get("X-Request-Id"); got != tc.want {
				t.Errorf("X-Request-Id = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRequestIDsDiffer(t *testing.T) {
	t.Parallel()
	ids := middleware.NewIDs(strings.NewReader("random"))
	if a, b := ids.Next(), ids.Next(); a == b {
		t.Errorf("two requests got the id %q", a)
	}
}

func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for _, tc := range []struct {
		name   string
		level  slog.Level
		answer http.HandlerFunc
		want   []string
	}{
		{"success is silent", slog.LevelInfo, ok, nil},
		{"a client's fault is silent", slog.LevelInfo, answer(404), nil},
		{"success is shown for debugging", slog.LevelDebug, ok, []string{"level=DEBUG", "method=GET", "path=/v1/queues/q ", "status=200", "bytes=4", "request_id=", "took="}},
		{"a server's fault is a warning", slog.LevelInfo, answer(503), []string{"level=WARN", "status=503"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, log := observe(t, tc.level, get(""), tc.answer)
			if len(tc.want) == 0 && log != "" {
				t.Errorf("logged %s, want nothing", log)
			}
			for _, want := range tc.want {
				if !strings.Contains(log, want) {
					t.Errorf("logged %s, want it to contain %s", log, want)
				}
			}
			if strings.Contains(log, "secret") {
				t.Errorf("logged the query, which may hold secrets: %s", log)
			}
		})
	}
}

func TestAPanicIsA500WithAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	rec, log := observe(t, slog.LevelInfo, get("r-1"), func(http.ResponseWriter, *http.Request) { panic("boom") })
	if rec.Code != http.StatusInternalServerError || !strings.Contains(rec.Body.String(), `"outcome":"unknown"`) || !strings.Contains(rec.Body.String(), `"request_id":"r-1"`) {
		t.Errorf("answer = %d %s, want a problem 500 with an unknown outcome", rec.Code, rec.Body)
	}
	if strings.Contains(rec.Body.String(), "boom") {
		t.Errorf("the client is told the panic: %s", rec.Body)
	}
	for _, want := range []string{"boom", "observe_test.go", "request_id=r-1"} {
		if !strings.Contains(log, want) {
			t.Errorf("logged %s, want it to contain %s", log, want)
		}
	}
}

func TestAPanicWithinAnAnswerCutsTheConnection(t *testing.T) {
	t.Parallel()
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // panicked with, not wrapped
			t.Errorf("panicked with %v, want http.ErrAbortHandler", v)
		}
	}()
	observe(t, slog.LevelInfo, get(""), func(w http.ResponseWriter, r *http.Request) {
		ok(w, r)
		panic("boom")
	})
}

// deadlines is a writer that remembers its write deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Duration
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t.Sub(start))
	return nil
}

func TestAnAnswerHasItsDeadlineWhenItStarts(t *testing.T) {
	t.Parallel()
	now := start
	o := middleware.Observer{
		Log: slog.New(slog.DiscardHandler),
		IDs: middleware.NewIDs(strings.NewReader("random")),
		Now: func() time.Time { return now },
	}
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	o.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now = now.Add(time.Hour) // a receive that waits
		_, _ = w.Write(make([]byte, 10))
		now = now.Add(time.Minute)
		_, _ = w.Write(make([]byte, 1<<20))
	})).ServeHTTP(w, get(""))

	want := []time.Duration{time.Hour + 30*time.Second, time.Hour + time.Minute + 30*time.Second + 16*time.Second}
	if len(w.set) != 2 || w.set[0] != want[0] || w.set[1] != want[1] {
		t.Errorf("write deadlines = %v, want %v", w.set, want)
	}
}
