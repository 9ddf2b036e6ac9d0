package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dabba-mq/dabba/engine"
)

// scrapeTime is how long the queues may take to be counted. Scrapers give up after ten seconds, some after five.
const scrapeTime = 4 * time.Second

// queueStates asks for the exact state of all queues and shows it.
type queueStates struct {
	count atomic.Pointer[func(context.Context) engine.Counted]
}

var uncounted = prometheus.NewDesc("dabba_scrape_uncounted",
	"What is missing in this scrape; 0 when all is well. Kind queue: how many queues could not be counted, so that all of dabba_queue_* "+
		"is left out of them. Kind catalog: 1 if the list of queues could not be read, so that queues may be missing that other nodes "+
		"made. GET /v1/queues/NAME of a missing one says why; look for a store server that is down or slow.",
	[]string{"kind"}, nil)

// Describe says nothing: whether a metric has a tenant label depends on the queue.
func (*queueStates) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *queueStates) Collect(out chan<- prometheus.Metric) {
	count := s.count.Load()
	if count == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime) //nolint:forbidigo // a collector gets none
	defer cancel()
	all := (*count)(ctx)
	unlisted := 0.0
	if all.Unlisted != nil {
		unlisted = 1
	}
	out <- prometheus.MustNewConstMetric(uncounted, prometheus.GaugeValue, float64(len(all.Uncounted)), "queue")
	out <- prometheus.MustNewConstMetric(uncounted, prometheus.GaugeValue, unlisted, "catalog")
	for _, q := range all.Queues {
		messages := describe(q.Ref, "dabba_queue_messages", "Messages in the queue, by state.", "state")
		for _, s := range [...]struct {
			state string
			n     int64
		}{
			{"ready", q.Counts.Ready},
			{"leased", q.Counts.Leased},
			{"delayed", q.Counts.Delayed},
			{"dead", q.Counts.Dead},
			{"moving", q.Counts.Moving},
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
