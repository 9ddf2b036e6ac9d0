package metrics

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/memlimit"
)

// Metrics is one registry with everything in it. All methods are safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	fsync     prometheus.Histogram
	waiting   atomic.Int64
	states    queueStates
	topics    topicCounters
	failovers failovers
	clock     clock

	mu     sync.RWMutex
	queues map[engine.Ref]*counters
}

// New returns metrics that count nothing yet.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dabba_http_requests_total",
			Help: "HTTP requests answered, by route and status.",
		}, []string{"method", "route", "status"}),
		fsync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "dabba_fsync_seconds",
			Help:    "How long the store took to make a batch of writes durable.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16), // 0.1 ms to 3.3 s
		}),
		queues: map[engine.Ref]*counters{},
	}
	m.registry.MustRegister(
		m.requests,
		m.fsync,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "dabba_waiting_receives",
			Help: "Receives and reads that wait for a message or record.",
		}, func() float64 { return float64(m.waiting.Load()) }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		(*queueCounters)(m),
		&m.states,
		&m.topics,
		&m.failovers,
		&m.clock,
	)
	return m
}

// Memory adds what requests may take and take of the server's memory, and how often that was too little.
func (m *Metrics) Memory(b *memlimit.Budget) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "dabba_memory_limit_bytes",
			Help: "Memory that requests and connections may take together now.",
		}, func() float64 { return float64(b.Limit()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "dabba_memory_used_bytes",
			Help: "Memory that requests and connections take, as estimated.",
		}, func() float64 { return float64(b.Used()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "dabba_memory_refusals_total",
			Help: "Requests that were refused since there was too little memory for them.",
		}, func() float64 { return float64(b.Refused()) }),
	)
}

// Fsync records how long one sync of the store took.
func (m *Metrics) Fsync(took time.Duration) { m.fsync.Observe(took.Seconds()) }

// Show adds the exact state of all queues. count is called with each scrape, which leaves out what it could not count and
// says how much that is; the last count given is the one in use.
func (m *Metrics) Show(count func(context.Context) engine.Counted) {
	m.states.count.Store(&count)
}

// Handler answers scrapes. What cannot be shown takes nothing else with it.
func (m *Metrics) Handler() http.Handler {
	all := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	scrapes := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case scrapes <- struct{}{}:
			defer func() { <-scrapes }()
			all.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many scrapes at a time; repeat this one shortly.", http.StatusServiceUnavailable)
		}
	})
}

// maxScrapes is how many are answered at a time: with many queues each takes much memory.
const maxScrapes = 2
