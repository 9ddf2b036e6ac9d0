package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dabba-mq/dabba/engine"
)

// counters are what happened in one queue since the server started, in the order of counterNames.
type counters [len(counterNames)]atomic.Int64

// What is counted, by its place in counters.
const (
	sent = iota
	sentBytes
	duplicates
	deduplicated
	shed
	refused
	received
	receivedBytes
	undone
	acked
	nacked
	extended
	leaseLost
	died
	deadLettered
	expired
	removed
	janitorFailures
	scheduleFailures
)

// counterNames are the names and meanings of the counters on the wire.
var counterNames = [...]struct{ name, help string }{
	sent:             {"dabba_messages_sent_total", "Messages accepted."},
	sentBytes:        {"dabba_sent_bytes_total", "Bytes of bodies and attributes accepted."},
	duplicates:       {"dabba_duplicate_sends_total", "Sends answered from the memory of their idempotency key."},
	deduplicated:     {"dabba_messages_deduplicated_total", "Messages not sent again, since one with their deduplication id was."},
	shed:             {"dabba_messages_shed_total", "Messages passed over or removed for newer ones, since the queue was full."},
	refused:          {"dabba_messages_refused_total", "Messages refused, since the queue was full."},
	received:         {"dabba_messages_received_total", "Messages leased."},
	receivedBytes:    {"dabba_received_bytes_total", "Bytes of bodies and attributes handed out."},
	undone:           {"dabba_messages_undone_total", "Deliveries taken back uncounted: the client had hung up, or released what it held."},
	acked:            {"dabba_messages_acked_total", "Messages acked."},
	nacked:           {"dabba_messages_nacked_total", "Messages given back."},
	extended:         {"dabba_leases_extended_total", "Leases extended."},
	leaseLost:        {"dabba_leases_lost_total", "Acks, nacks and extends refused, since the lease was lost."},
	died:             {"dabba_messages_died_total", "Messages found dead."},
	deadLettered:     {"dabba_messages_dead_lettered_total", "Dead messages moved to their dead-letter queue."},
	expired:          {"dabba_messages_expired_total", "Messages removed by retention."},
	removed:          {"dabba_messages_removed_total", "Messages removed, skipped or purged by someone who looks after the queue."},
	janitorFailures:  {"dabba_janitor_failures_total", "Failures of work in the background, which is tried again."},
	scheduleFailures: {"dabba_schedule_failures_total", "Fire times of schedules missed, and failures of looking at a schedule."},
}

// Events are the functions to open the engine with.
func (m *Metrics) Events() engine.Events {
	count := func(what int) func(engine.Ref, int) {
		return func(q engine.Ref, n int) { m.of(q)[what].Add(int64(n)) }
	}
	events := engine.Events{
		Sent: func(q engine.Ref, n int, bytes int64) {
			c := m.of(q)
			c[sent].Add(int64(n))
			c[sentBytes].Add(bytes)
		},
		Duplicate: func(q engine.Ref) { m.of(q)[duplicates].Add(1) },
		Received: func(q engine.Ref, n int, bytes int64) {
			c := m.of(q)
			c[received].Add(int64(n))
			c[receivedBytes].Add(bytes)
		},
		Deduplicated:  count(deduplicated),
		Shed:          count(shed),
		Refused:       count(refused),
		Undone:        count(undone),
		Acked:         count(acked),
		Nacked:        count(nacked),
		Extended:      count(extended),
		LeaseLost:     count(leaseLost),
		Died:          count(died),
		DeadLettered:  func(q, _ engine.Ref, n int) { m.of(q)[deadLettered].Add(int64(n)) },
		Expired:       count(expired),
		Removed:       count(removed),
		Waiting:       func(delta int) { m.waiting.Add(int64(delta)) },
		Deleted:       m.forget,
		JanitorFailed: func(q engine.Ref, _ error) { m.of(q)[janitorFailures].Add(1) },
		ClockStepped:  func(s engine.ClockStep) { m.ClockStepped(s.At, s.By) },
		ScheduleFailed: func(q engine.Ref, _ string, _ error) {
			if q != (engine.Ref{}) {
				m.of(q)[scheduleFailures].Add(1)
			}
		},
	}
	m.topics.add(&events)
	return events
}

// of returns the counters of a queue.
func (m *Metrics) of(q engine.Ref) *counters {
	m.mu.RLock()
	c := m.queues[q]
	m.mu.RUnlock()
	if c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.queues[q]; c == nil {
		c = new(counters)
		m.queues[q] = c
	}
	return c
}

func (m *Metrics) forget(q engine.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.queues, q)
}

// queueCounters shows the counters.
type queueCounters Metrics

// Describe says nothing: whether a metric has a tenant label depends on the queue.
func (*queueCounters) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *queueCounters) Collect(out chan<- prometheus.Metric) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for q, counted := range c.queues {
		for i := range counted {
			d := describe(q, counterNames[i].name, counterNames[i].help)
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(counted[i].Load()))
		}
	}
}

// describe is the description of a metric of one queue, further labels apart.
func describe(q engine.Ref, name, help string, labels ...string) *prometheus.Desc {
	constant := prometheus.Labels{"queue": q.Name}
	if q.Tenant != defaultTenant {
		constant["tenant"] = q.Tenant
	}
	return prometheus.NewDesc(name, help, labels, constant)
}

// defaultTenant is the one whose name is not shown.
const defaultTenant = "default"
