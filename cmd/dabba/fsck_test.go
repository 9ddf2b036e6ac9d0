package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/segment"
)

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
