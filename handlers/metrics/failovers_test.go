package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/handlers/metrics"
)

func TestFailoversAreCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	if _, text := scrape(m); strings.Contains(text, "dabba_store_") {
		t.Error("a store that cannot fail over has metrics about it")
	}
	if _, can := m.Failovers(); can {
		t.Error("failovers of a store that cannot fail over: got some")
	}
	m.CanFailOver()
	wantLines(t, m,
		`dabba_store_failovers_total 0`,
		`dabba_store_lost_total{kind="send"} 0`,
		`dabba_store_lost_total{kind="other"} 0`,
	)
	late, early := time.Unix(20, 0), time.Unix(10, 0)
	m.FailedOver(late)
	m.FailedOver(early) // told of later, by a slower node
	m.Lose(metrics.Lost{Sends: 1, Receives: 2, Settles: 3, Appends: 4, Catalog: 5, Others: 6}, true)
	m.Lose(metrics.Lost{Sends: 10}, false)
	wantLines(t, m,
		`dabba_store_failovers_total 2`,
		`dabba_store_lost_total{kind="send"} 11`,
		`dabba_store_lost_total{kind="receive"} 2`,
		`dabba_store_lost_total{kind="settle"} 3`,
		`dabba_store_lost_total{kind="append"} 4`,
		`dabba_store_lost_total{kind="catalog"} 5`,
		`dabba_store_lost_total{kind="other"} 6`,
	)
	got, can := m.Failovers()
	want := metrics.Failovers{Count: 2, LastAt: late, Partial: true, Lost: metrics.Lost{
		Sends: 11, Receives: 2, Settles: 3, Appends: 4, Catalog: 5, Others: 6,
	}}
	if !can || got != want {
		t.Errorf("failovers: got %+v, %t, want %+v", got, can, want)
	}
}
