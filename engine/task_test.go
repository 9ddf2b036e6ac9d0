package engine

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

// TestTaskFormat: what is on disk must stay readable; a change here needs a new version.
func TestTaskFormat(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 16, 50, 0, 0, time.UTC)
	whole := taskRecord{
		Version: 2, Queue: "dlq", Generation: 1<<64 - 1, To: "orders", Targets: []string{"a"},
		Choice: choiceOf(sieve{
			selection: store.Selection{
				States: store.StateReady | store.StateDead, Group: new("g"), AvailableBefore: at, UpTo: 9, Seqs: []store.Seq{},
			},
			contains: []byte("text"), attributes: map[string]string{"n": "v"},
		}),
		RateLimit: 0.5, Renew: true, Edits: true, State: TaskFailed, Error: "why", ErrorCode: CodeNotFound,
		Cursor: 3, PassMoved: 1, PassSkipped: 2, Moved: 4, Total: 5, Matched: 6, Skipped: 7, Rate: 1.5, Exact: true,
		Owner: "node", Until: at, Principal: "someone", CancelledBy: "someone else", CreatedAt: at, FinishedAt: at,
		Fingerprint: []byte{1},
	}
	const want = `{"version":2,"queue":"dlq","generation":"18446744073709551615","to":"orders","targets":["a"],` +
		`"choice":{"states":9,"group":"g","available_before":"2026-11-29T16:50:00Z","up_to":9,"seqs":[],` +
		`"contains":"dGV4dA==","attributes":{"n":"v"}},"rate_limit":0.5,"renew":true,"edits":true,"state":"failed","error":"why","error_code":"not_found",` +
		`"cursor":3,"pass_moved":1,"pass_skipped":2,"moved":4,"total":5,"matched":6,"skipped":7,"rate":1.5,"exact":true,` +
		`"owner":"node","until":"2026-11-29T16:50:00Z","principal":"someone","cancelled_by":"someone else",` +
		`"created_at":"2026-11-29T16:50:00Z","finished_at":"2026-11-29T16:50:00Z","fingerprint":"AQ=="}`
	value, err := json.Marshal(whole)
	if err != nil || string(value) != want {
		t.Errorf("task record: got %s, %v\nwant %s", value, err, want)
	}
	for _, record := range []taskRecord{whole, {Version: 1}, {Version: 2}} {
		value, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeTask(store.Pair{Value: value})
		if err != nil {
			t.Fatalf("decode %s: %v", value, err)
		}
		if diff := cmp.Diff(record, got); diff != "" {
			t.Errorf("task record over encoding (-want +got):\n%s", diff)
		}
		if got.Choice.sieve().selection.Seqs == nil != (record.Choice.Seqs == nil) {
			t.Error("no ids became all ids, or the other way round")
		}
	}
	for value, want := range map[string]error{`{"version":3}`: store.ErrVersion, `{}`: store.ErrVersion, `{`: store.ErrCorrupt} {
		if _, err := decodeTask(store.Pair{Key: "task/t/x", Value: []byte(value)}); !errors.Is(err, want) {
			t.Errorf("decode %s: got %v, want %v", value, err, want)
		}
	}
}

func TestTaskETA(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		record taskRecord
		want   time.Duration
	}{
		{taskRecord{State: TaskRunning, Total: 100}, -1},
		{taskRecord{State: TaskRunning, Total: 100, RateLimit: 10}, 10 * time.Second},
		{taskRecord{State: TaskRunning, Total: 100, Moved: 50, Rate: 5, RateLimit: 10}, 10 * time.Second},
		{taskRecord{State: TaskRunning, Total: 100, Moved: 101, Rate: 5}, 0},
		{taskRecord{State: TaskRunning, Total: 1 << 60, Rate: 0.001}, MaxDuration},
		{taskRecord{State: TaskDone, Total: 100, Moved: 50, Rate: 5}, -1},
	} {
		if got := tc.record.eta(); got != tc.want {
			t.Errorf("ETA of %+v: got %v, want %v", tc.record, got, tc.want)
		}
	}
}
