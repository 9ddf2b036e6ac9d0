package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Clock is what was noticed of the machine's wall clock since the process started.
type Clock struct {
	// Steps counts how often it was set, LastBy and LastAt say how far the last time, and what it showed then.
	Steps  int
	LastBy time.Duration
	LastAt time.Time
	// Gap is the time that the store was closed for before the start, if there was something wrong with it.
	Gap *Gap
}

// Gap is the time that the store was closed for: what counted as elapsed and what the wall clock showed. Measured says that the
// machine's boot clock measured it.
type Gap struct {
	Counted, Wall time.Duration
	Measured      bool
}

type clock struct {
	mu   sync.Mutex
	seen Clock
}

// ClockStepped counts that the wall clock was set.
func (m *Metrics) ClockStepped(at time.Time, by time.Duration) {
	m.clock.mu.Lock()
	defer m.clock.mu.Unlock()
	m.clock.seen.Steps++
	m.clock.seen.LastAt, m.clock.seen.LastBy = at, by
}

// ClockGap notes what was wrong with the time that the store was closed for.
func (m *Metrics) ClockGap(g Gap) {
	m.clock.mu.Lock()
	defer m.clock.mu.Unlock()
	m.clock.seen.Gap = &g
}

// Clock gives what was noticed.
func (m *Metrics) Clock() Clock {
	m.clock.mu.Lock()
	defer m.clock.mu.Unlock()
	return m.clock.seen
}

var (
	clockStepsTotal = prometheus.NewDesc("dabba_clock_steps_total",
		"Times that the machine's wall clock was set, while the server ran or while it was stopped.", nil, nil)
	clockLastStep = prometheus.NewDesc("dabba_clock_last_step_seconds",
		"How far the wall clock was set the last time: forward, or back if it is negative.", nil, nil)
	clockGaps = prometheus.NewDesc("dabba_clock_gaps_total",
		"Times, 0 or 1, that this process began with an implausible gap, or with a clock that was set meanwhile.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*clock) Describe(out chan<- *prometheus.Desc) {
	out <- clockStepsTotal
	out <- clockLastStep
	out <- clockGaps
}

// Collect implements prometheus.Collector.
func (c *clock) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gaps := 0.0
	if c.seen.Gap != nil {
		gaps = 1
	}
	out <- prometheus.MustNewConstMetric(clockStepsTotal, prometheus.CounterValue, float64(c.seen.Steps))
	out <- prometheus.MustNewConstMetric(clockLastStep, prometheus.GaugeValue, c.seen.LastBy.Seconds())
	out <- prometheus.MustNewConstMetric(clockGaps, prometheus.CounterValue, gaps)
}
