package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

func TestScheduleRecordKeepsEverything(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 7, 30, 0, 0, time.UTC)
	want := &scheduleRecord{
		queue: Ref{"acme/x", "work.fifo"}, name: "s", generation: 1 << 63, id: "abc",
		spec: ScheduleSpec{
			Cron: "30 8 * * *", Zone: "Europe/Berlin", Missed: MissedOnce,
			Message: Message{
				Body: []byte{0, 0xff}, ContentType: "image/jpeg", TraceParent: "00-1-2-01", Group: "g", DedupID: "d", Priority: 9,
				Attributes: []Attribute{{"n", "Binary", []byte{0xfe}}}, Delay: new(time.Second), TTL: new(time.Minute),
			},
		},
		next: at, last: at.Add(-24 * time.Hour), revision: 17,
	}
	value, err := encodeSchedule(want)
	if err != nil {
		t.Fatal(err)
	}
	const written = `{"version":1,"id":"abc","generation":"9223372036854775808","cron":"30 8 * * *","tz":"Europe/Berlin","missed":"once",` +
		`"next":1796023800,"last":1795937400,"message":{"body":"AP8=","content_type":"image/jpeg","traceparent":"00-1-2-01",` +
		`"attributes":[{"name":"n","type":"Binary","value":"/g=="}],"delay":1000000000,"group":"g","dedup_id":"d","priority":9,"ttl":60000000000}}`
	if diff := cmp.Diff(written, string(value)); diff != "" {
		t.Errorf("written form (-want +got):\n%s", diff)
	}
	got, err := decodeSchedule(store.Pair{Key: scheduleKey(want.queue, want.name), Value: value, Revision: 17})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(scheduleRecord{}, Message{})); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestBrokenScheduleRecords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, value string
		want       error
	}{
		{"schedule/", "{}", store.ErrCorrupt},
		{"schedule/t/q", "{}", store.ErrCorrupt},
		{"schedule/t/q/s/x", "{}", store.ErrCorrupt},
		{"schedule/%zz/q/s", "{}", store.ErrCorrupt},
		{"schedule/t/q/s", "", store.ErrCorrupt},
		{"schedule/t/q/s", `{"version":1,"generation":5}`, store.ErrCorrupt},
		{"schedule/t/q/s", "{}", store.ErrVersion},
		{"schedule/t/q/s", `{"version":2}`, store.ErrVersion},
	} {
		if r, err := decodeSchedule(store.Pair{Key: tc.key, Value: []byte(tc.value)}); !errors.Is(err, tc.want) {
			t.Errorf("decodeSchedule(%q, %q) = %+v, %v; want %v", tc.key, tc.value, r, err, tc.want)
		}
	}
}
