package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dabba-mq/dabba/engine"
)

// scrapeTime is how long the queues may take to be counted.
const scrapeTime = 10 * time.Second

// queueStates asks for the exact state of all queues and shows it.
type queueStates struct {
	list atomic.Pointer[func(context.Context) ([]engine.Queue, error)]
}

// Describe says nothing: whether a metric has a tenant label depends on the queue.
func (*queueStates) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *queueStates) Collect(out chan<- prometheus.Metric) {
	list := s.list.Load()
	if list == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime) //nolint:forbidigo // a collector gets none
	defer cancel()
	queues, err := (*list)(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, q := range queues {
		messages := describe(q.Ref, "dabba_queue_messages", "Messages in the queue, by state.", "state")
		for _, s := range [...]struct {
			state string
			n     int64
		}{
			{"ready", q.Counts.Ready},
			{"leased", q.Counts.Leased},
			{"delayed", q.Counts.Delayed},
			{"dead", q.Counts.Dead},
		} {
			out <- prometheus.MustNewConstMetric(messages, prometheus.GaugeValue, float64(s.n), s.state)
		}
		bytes := describe(q.Ref, "dabba_queue_bytes", "Bytes of bodies and attributes in the queue.")
		out <- prometheus.MustNewConstMetric(bytes, prometheus.GaugeValue, float64(q.Counts.Bytes))
		age := describe(q.Ref, "dabba_queue_oldest_age_seconds",
			"Age of the oldest ready message since it first became available; 0 when none is ready.")
		out <- prometheus.MustNewConstMetric(age, prometheus.GaugeValue, max(0, q.OldestAge.Seconds()))
		if q.Numbers.Waits != nil {
			out <- waits(q.Ref, q.Numbers.Waits)
		}
	}
}

// waits is the histogram of one queue, in fewer buckets than the engine has: from 1 ms to 70 minutes, each four times the
// one before.
func waits(q engine.Ref, w *engine.Waits) prometheus.Metric {
	buckets := make(map[float64]uint64, 12)
	for bound := time.Millisecond; len(buckets) < 12; bound *= 4 {
		buckets[bound.Seconds()] = w.UpTo(bound)
	}
	d := describe(q, "dabba_queue_wait_seconds",
		"How long messages waited from when they became available in the queue to their first delivery, on this node.")
	return prometheus.MustNewConstHistogram(d, w.Count, w.Sum.Seconds(), buckets)
}
