package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/segment"
)

// TestCheckReportDatesWhatIsDue: what is due is so long after the last record, and that is a date.
func TestCheckReportDatesWhatIsDue(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	r := newCheckReport(segment.Report{Queues: []segment.QueueReport{
		{ID: 1, At: at, Stats: store.Stats{OldestAge: 5 * time.Second, NextDue: 30 * time.Second}},
		{ID: 2, At: at, Stats: store.Stats{OldestAge: -1, NextDue: 0}},
		{ID: 3, At: at, Stats: store.Stats{OldestAge: -1, NextDue: store.NoDue}},
	}})
	for i, want := range []*time.Time{new(at.Add(30 * time.Second)), &at, nil} {
		got := r.Queues[i].NextDue
		if (got == nil) != (want == nil) || got != nil && !got.Equal(*want) {
			t.Errorf("queue %d: next_due is %v, want %v", i+1, got, want)
		}
	}
}

func TestCheckReportNamesQueues(t *testing.T) {
	t.Parallel()
	idle := store.Stats{OldestAge: -1, NextDue: store.NoDue}
	r := newCheckReport(segment.Report{
		Queues: []segment.QueueReport{{ID: 10, Stats: idle}, {ID: 11, Stats: idle}, {ID: 12, Stats: idle}},
		Pairs: []store.Pair{
			{Key: "engine/secret", Value: []byte("x")},
			{Key: "q/default/orders", Value: []byte(`{"version":1,"id":"10"}`)},
			{Key: "q/a%2Fb/orders", Value: []byte(`{"version":1,"id":"11"}`)},
			{Key: "q/default/odd", Value: []byte(`{"version":99,"id":"12"}`)},
			{Key: "q/default/broken", Value: []byte(`{`)},
		},
	})
	var titles []string
	for _, q := range r.Queues {
		titles = append(titles, title(q.Tenant, q.Name))
	}
	if got, want := strings.Join(titles, ", "), "orders, a/b/orders, (not in the catalog)"; got != want {
		t.Errorf("queues are %s, want %s", got, want)
	}
	if len(r.Problems) != 2 || !strings.Contains(r.Problems[0], "version 99") || !strings.Contains(r.Problems[1], "q/default/broken") {
		t.Errorf("problems %q, want one for each catalog entry that cannot be read", r.Problems)
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil || strings.Count(out.String(), "PROBLEM: ") != 2 || strings.Contains(out.String(), "No damage") {
		t.Errorf("print = %v:\n%s\nwant both problems", err, &out)
	}
}
