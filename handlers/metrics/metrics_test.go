package metrics_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/metrics"
)

var (
	orders  = engine.Ref{Tenant: "default", Name: "orders"}
	foreign = engine.Ref{Tenant: "acme", Name: "orders"}
)

// scrape returns the status and the text of one scrape.
func scrape(m *metrics.Metrics) (int, string) {
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return rec.Code, rec.Body.String()
}

// wantLines checks that a scrape has each line.
func wantLines(t *testing.T, m *metrics.Metrics, lines ...string) {
	t.Helper()
	status, text := scrape(m)
	if status != http.StatusOK {
		t.Fatalf("scrape = %d, want 200\n%s", status, text)
	}
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the scrape has no line %s", line)
		}
	}
	if t.Failed() {
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, "dabba_") {
				t.Log(line)
			}
		}
	}
}

func TestEventsAreCountedByQueue(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	e := m.Events()
	e.Sent(orders, 3, 300)
	e.Sent(foreign, 1, 10)
	e.Duplicate(orders)
	e.Received(orders, 2, 200)
	e.Undone(orders, 1)
	e.Acked(orders, 1)
	e.Nacked(orders, 4)
	e.Extended(orders, 5)
	e.LeaseLost(orders, 6)
	e.Died(orders, 7)
	e.DeadLettered(orders, foreign, 8)
	e.Expired(orders, 9)
	e.Removed(orders, 10)
	e.Deduplicated(orders, 11)
	e.Shed(orders, 12)
	e.Refused(orders, 13)
	e.Waiting(+1)
	e.Waiting(+1)
	e.Waiting(-1)
	e.JanitorFailed(orders, errors.New("disk"))
	e.ScheduleFailed(orders, "nightly", errors.New("full"))
	e.ScheduleFailed(engine.Ref{}, "", errors.New("disk")) // about all of them
	m.Fsync(3 * time.Millisecond)

	wantLines(t, m,
		`dabba_messages_sent_total{queue="orders"} 3`,
		`dabba_messages_sent_total{queue="orders",tenant="acme"} 1`,
		`dabba_sent_bytes_total{queue="orders"} 300`,
		`dabba_duplicate_sends_total{queue="orders"} 1`,
		`dabba_messages_received_total{queue="orders"} 2`,
		`dabba_received_bytes_total{queue="orders"} 200`,
		`dabba_messages_undone_total{queue="orders"} 1`,
		`dabba_messages_acked_total{queue="orders"} 1`,
		`dabba_messages_nacked_total{queue="orders"} 4`,
		`dabba_leases_extended_total{queue="orders"} 5`,
		`dabba_leases_lost_total{queue="orders"} 6`,
		`dabba_messages_died_total{queue="orders"} 7`,
		`dabba_messages_dead_lettered_total{queue="orders"} 8`,
		`dabba_messages_expired_total{queue="orders"} 9`,
		`dabba_messages_removed_total{queue="orders"} 10`,
		`dabba_messages_deduplicated_total{queue="orders"} 11`,
		`dabba_messages_shed_total{queue="orders"} 12`,
		`dabba_messages_refused_total{queue="orders"} 13`,
		`dabba_janitor_failures_total{queue="orders"} 1`,
		`dabba_schedule_failures_total{queue="orders"} 1`,
		`dabba_waiting_receives 1`,
		`dabba_fsync_seconds_count 1`,
		`dabba_fsync_seconds_bucket{le="0.0032"} 1`,
	)
}

func TestADeletedQueueIsForgotten(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	e := m.Events()
	e.Sent(orders, 1, 1)
	e.Sent(foreign, 1, 1)
	e.Deleted(orders)
	_, text := scrape(m)
	if strings.Contains(text, `queue="orders"}`) || !strings.Contains(text, `queue="orders",tenant="acme"}`) {
		t.Errorf("after the deletion of default/orders the scrape is\n%s", text)
	}
}

func TestStatesAreAskedForWithEachScrape(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	ready := int64(0)
	m.Show(func(context.Context) engine.Counted {
		ready++
		return engine.Counted{Queues: []engine.Queue{
			{Ref: orders, Counts: engine.Counts{Ready: ready, Leased: 2, Delayed: 3, Dead: 4, Bytes: 5}, OldestAge: 1500 * time.Millisecond},
			{Ref: foreign, OldestAge: -1},
		}}
	})
	wantLines(t, m,
		`dabba_queue_messages{queue="orders",state="ready"} 1`,
		`dabba_queue_messages{queue="orders",state="leased"} 2`,
		`dabba_queue_messages{queue="orders",state="delayed"} 3`,
		`dabba_queue_messages{queue="orders",state="dead"} 4`,
		`dabba_queue_bytes{queue="orders"} 5`,
		`dabba_queue_oldest_age_seconds{queue="orders"} 1.5`,
		`dabba_queue_messages{queue="orders",state="ready",tenant="acme"} 0`,
		`dabba_queue_oldest_age_seconds{queue="orders",tenant="acme"} 0`,
		`dabba_scrape_uncounted{kind="queue"} 0`,
		`dabba_scrape_uncounted{kind="catalog"} 0`,
	)
	wantLines(t, m, `dabba_queue_messages{queue="orders",state="ready"} 2`)
}

func TestWhatCannotBeCountedIsLeftOut(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Events().Sent(foreign, 3, 30)
	gone := errors.New("its server is gone")
	all := engine.Counted{
		Queues:    []engine.Queue{{Ref: orders, Counts: engine.Counts{Ready: 1}}},
		Uncounted: []engine.Uncounted{{Ref: foreign, Err: gone}},
	}
	m.Show(func(context.Context) engine.Counted { return all })
	wantLines(t, m,
		`dabba_queue_messages{queue="orders",state="ready"} 1`,
		`dabba_messages_sent_total{queue="orders",tenant="acme"} 3`,
		`dabba_scrape_uncounted{kind="queue"} 1`,
		`dabba_scrape_uncounted{kind="catalog"} 0`,
	)
	if _, text := scrape(m); strings.Contains(text, `dabba_queue_messages{queue="orders",state="ready",tenant="acme"}`) {
		t.Error("a queue that could not be counted has counts")
	}

	all = engine.Counted{Unlisted: gone, Uncounted: []engine.Uncounted{{Ref: orders, Err: gone}, {Ref: foreign, Err: gone}}}
	wantLines(t, m,
		`dabba_messages_sent_total{queue="orders",tenant="acme"} 3`,
		`dabba_waiting_receives 0`,
		`dabba_scrape_uncounted{kind="queue"} 2`,
		`dabba_scrape_uncounted{kind="catalog"} 1`,
	)
	if _, text := scrape(m); strings.Contains(text, "\ndabba_queue_") {
		t.Errorf("nothing could be counted, and the scrape has counts:\n%s", text)
	}
}

// TestAScrapeHasAnEnd has a store that answers nothing at all.
func TestAScrapeHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		m.Show(func(ctx context.Context) engine.Counted {
			<-ctx.Done()
			return engine.Counted{Unlisted: ctx.Err()}
		})
		begun := time.Now()
		wantLines(t, m, `dabba_scrape_uncounted{kind="catalog"} 1`)
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("the scrape took %v, want at most 4s", took)
		}
	})
}

// knowing is a writer that knows its status, as that of package middleware.
type knowing struct {
	http.ResponseWriter
	status int
}

func (w *knowing) Status() int { return w.status }
func (w *knowing) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func TestRoutesAreCountedByStatus(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	for _, answer := range []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) {},
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "implicitly 200") },
		func(http.ResponseWriter, *http.Request) { panic("no") },
	} {
		func() {
			defer func() { _ = recover() }()
			m.Route(http.MethodGet, "/x", answer).ServeHTTP(&knowing{ResponseWriter: httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/x", nil))
		}()
	}
	wantLines(t, m,
		`dabba_http_requests_total{method="GET",route="/x",status="200"} 2`,
		`dabba_http_requests_total{method="GET",route="/x",status="201"} 1`,
		`dabba_http_requests_total{method="GET",route="/x",status="418"} 1`,
		`dabba_http_requests_total{method="GET",route="/x",status="500"} 1`,
	)
}

func TestWaitsAreAHistogram(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/orders", "").Want(http.StatusCreated)
	srv.Post("/v1/queues/orders/messages", `{"messages":[{"body":"a"},{"body":"b"}]}`).Want(http.StatusOK)
	if text := srv.Get("/metrics").Want(http.StatusOK).Body; strings.Contains(string(text), "dabba_queue_wait_seconds") {
		t.Error("a queue that has delivered nothing has a histogram")
	}
	srv.Post("/v1/queues/orders/receive", `{"max":2}`).Want(http.StatusOK)
	text := srv.Get("/metrics").Want(http.StatusOK)
	for _, bound := range []string{"0.001", "0.004", "0.016", "0.064", "0.256", "1.024", "4.096", "16.384", "65.536", "262.144", "1048.576", "4194.304"} {
		text.Has(`dabba_queue_wait_seconds_bucket{queue="orders",le="` + bound + `"} `)
	}
	text.Has(`dabba_queue_wait_seconds_bucket{queue="orders",le="4194.304"} 2`)
	text.Has(`dabba_queue_wait_seconds_count{queue="orders"} 2`)
}
