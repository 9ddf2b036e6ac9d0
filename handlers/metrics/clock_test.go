package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers/metrics"
)

func TestClockStepsAreCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	m.ClockGap(metrics.Gap{Counted: 0, Wall: -time.Hour})
	m.ClockStepped(at.Add(-time.Hour), time.Hour)
	m.ClockStepped(at, -24*time.Hour)
	want := metrics.Clock{Steps: 2, LastBy: -24 * time.Hour, LastAt: at, Gap: &metrics.Gap{Wall: -time.Hour}}
	if diff := cmp.Diff(want, m.Clock()); diff != "" {
		t.Errorf("clock (-want +got):\n%s", diff)
	}
}
