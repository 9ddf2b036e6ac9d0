package metrics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/metrics"
)

func TestTopicsAreCountedUntilTheyAreDeleted(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	events := m.Events()
	clicks, theirs := engine.Ref{Tenant: "default", Name: "clicks"}, engine.Ref{Tenant: "acme", Name: "clicks"}
	events.Produced(clicks, 3, 30)
	events.Produced(clicks, 1, 10)
	events.Read(clicks, 2, 20)
	events.Trimmed(clicks, 4)
	events.TopicFailed(clicks, errors.New("disk"))
	events.Produced(theirs, 5, 50)
	_, page := scrape(m)
	for _, want := range []string{
		`dabba_records_produced_total{topic="clicks"} 4`,
		`dabba_produced_bytes_total{topic="clicks"} 40`,
		`dabba_records_read_total{topic="clicks"} 2`,
		`dabba_read_bytes_total{topic="clicks"} 20`,
		`dabba_records_expired_total{topic="clicks"} 4`,
		`dabba_topic_failures_total{topic="clicks"} 1`,
		`dabba_records_produced_total{tenant="acme",topic="clicks"} 5`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the scrape lacks %s", want)
		}
	}
	events.TopicDeleted(clicks)
	if _, page := scrape(m); strings.Contains(page, `{topic="clicks"}`) || !strings.Contains(page, `{tenant="acme",topic="clicks"} 5`) {
		t.Error("deleting a topic must remove its counters, and no others")
	}
}
