package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dabba-mq/dabba/engine"
)

// What is counted of each topic.
const (
	produced = iota
	producedBytes
	read
	readBytes
	trimmed
	topicFailures
	topicKinds
)

var topicNames = [topicKinds]struct{ name, help string }{
	produced:      {"dabba_records_produced_total", "Records appended to a topic."},
	producedBytes: {"dabba_produced_bytes_total", "Bytes of keys, values and headers appended to a topic."},
	read:          {"dabba_records_read_total", "Records read from a topic."},
	readBytes:     {"dabba_read_bytes_total", "Bytes of keys, values and headers read from a topic."},
	trimmed:       {"dabba_records_expired_total", "Records removed, since their retention was over."},
	topicFailures: {"dabba_topic_failures_total", "Failures of work on a topic in the background, which is tried again."},
}

// topicCounters count by topic.
type topicCounters struct {
	mu     sync.RWMutex
	topics map[engine.Ref]*[topicKinds]atomic.Int64
}

// of returns the counters of a topic.
func (c *topicCounters) of(t engine.Ref) *[topicKinds]atomic.Int64 {
	c.mu.RLock()
	found := c.topics[t]
	c.mu.RUnlock()
	if found != nil {
		return found
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found = c.topics[t]; found == nil {
		found = new([topicKinds]atomic.Int64)
		if c.topics == nil {
			c.topics = make(map[engine.Ref]*[topicKinds]atomic.Int64)
		}
		c.topics[t] = found
	}
	return found
}

func (c *topicCounters) forget(t engine.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.topics, t)
}

// add lets the engine's events about topics count.
func (c *topicCounters) add(e *engine.Events) {
	both := func(records, bytes int) func(engine.Ref, int, int64) {
		return func(t engine.Ref, n int, size int64) {
			counted := c.of(t)
			counted[records].Add(int64(n))
			counted[bytes].Add(size)
		}
	}
	e.Produced, e.Read = both(produced, producedBytes), both(read, readBytes)
	e.Trimmed = func(t engine.Ref, n int) { c.of(t)[trimmed].Add(int64(n)) }
	e.TopicFailed = func(t engine.Ref, _ error) { c.of(t)[topicFailures].Add(1) }
	e.TopicDeleted = c.forget
}

// Describe says nothing: whether a metric has a tenant label depends on the topic.
func (*topicCounters) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *topicCounters) Collect(out chan<- prometheus.Metric) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for t, counted := range c.topics {
		labels := prometheus.Labels{"topic": t.Name}
		if t.Tenant != defaultTenant {
			labels["tenant"] = t.Tenant
		}
		for i := range counted {
			d := prometheus.NewDesc(topicNames[i].name, topicNames[i].help, nil, labels)
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(counted[i].Load()))
		}
	}
}
