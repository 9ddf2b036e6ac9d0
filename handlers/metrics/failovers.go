package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Lost counts what a store has lost of what it had acknowledged.
type Lost struct {
	// Sends, Receives and Settles are messages, Appends records, Catalog changes of settings. Others are changes that another
	// process was told of, or nobody who is still there.
	Sends, Receives, Settles, Appends, Catalog, Others int
}

// Failovers are what the process has noticed of a store's failovers since it started.
type Failovers struct {
	Count int
	// LastAt is zero when there was none.
	LastAt time.Time
	Lost   Lost
	// Partial says that more may be lost than was counted.
	Partial bool
}

// failovers show what was noticed, once it is known that the store can fail over.
type failovers struct {
	mu   sync.Mutex
	can  bool
	seen Failovers
}

// CanFailOver says that the store is one that can. Without it nothing of failovers is shown.
func (m *Metrics) CanFailOver() {
	m.failovers.mu.Lock()
	defer m.failovers.mu.Unlock()
	m.failovers.can = true
}

// FailedOver counts a failover that was noticed at a time.
func (m *Metrics) FailedOver(at time.Time) {
	m.failovers.mu.Lock()
	defer m.failovers.mu.Unlock()
	m.failovers.seen.Count++
	if at.After(m.failovers.seen.LastAt) {
		m.failovers.seen.LastAt = at
	}
}

// Lose counts what is lost; partial says that there may be more.
func (m *Metrics) Lose(l Lost, partial bool) {
	m.failovers.mu.Lock()
	defer m.failovers.mu.Unlock()
	sum := &m.failovers.seen.Lost
	sum.Sends += l.Sends
	sum.Receives += l.Receives
	sum.Settles += l.Settles
	sum.Appends += l.Appends
	sum.Catalog += l.Catalog
	sum.Others += l.Others
	m.failovers.seen.Partial = m.failovers.seen.Partial || partial
}

// Failovers gives what was noticed; false when the store cannot fail over.
func (m *Metrics) Failovers() (Failovers, bool) {
	m.failovers.mu.Lock()
	defer m.failovers.mu.Unlock()
	return m.failovers.seen, m.failovers.can
}

var (
	failoversTotal = prometheus.NewDesc("dabba_store_failovers_total",
		"Times that another process, or one that was started again, took a store server's place, or one was emptied, as noticed here.", nil, nil)
	lostTotal = prometheus.NewDesc("dabba_store_lost_total",
		"Acknowledged changes that failovers of the store have lost, by kind; other: of which another process was told.", []string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (*failovers) Describe(out chan<- *prometheus.Desc) {
	out <- failoversTotal
	out <- lostTotal
}

// Collect implements prometheus.Collector.
func (f *failovers) Collect(out chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.can {
		return
	}
	out <- prometheus.MustNewConstMetric(failoversTotal, prometheus.CounterValue, float64(f.seen.Count))
	l := &f.seen.Lost
	for _, kind := range [...]struct {
		name string
		n    int
	}{
		{"send", l.Sends},
		{"receive", l.Receives},
		{"settle", l.Settles},
		{"append", l.Appends},
		{"catalog", l.Catalog},
		{"other", l.Others},
	} {
		out <- prometheus.MustNewConstMetric(lostTotal, prometheus.CounterValue, float64(kind.n), kind.name)
	}
}
