package rest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/problem"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// withTopic starts a server that has an empty topic "t" with the given configuration.
func withTopic(tb testing.TB, config string) *handlerstest.Server {
	tb.Helper()
	srv := handlerstest.Start(tb)
	srv.Put("/v1/topics/t", config).Want(http.StatusCreated)
	return srv
}

func produce(tb testing.TB, srv *handlerstest.Server, body string, headers ...string) []rest.ProduceResult {
	tb.Helper()
	var got rest.ProduceAnswer
	srv.Post("/v1/topics/t/records", body, headers...).Want(http.StatusOK).Decode(&got)
	return got.Results
}

// values appends texts to partition 0.
func values(tb testing.TB, srv *handlerstest.Server, texts ...string) {
	tb.Helper()
	var records []string
	for _, text := range texts {
		records = append(records, fmt.Sprintf(`{"value":%q,"partition":0}`, text))
	}
	produce(tb, srv, `{"records":[`+strings.Join(records, ",")+`]}`)
}

func read(tb testing.TB, srv *handlerstest.Server, partition int, params string) rest.ReadAnswer {
	tb.Helper()
	var got rest.ReadAnswer
	srv.Get(fmt.Sprintf("/v1/topics/t/partitions/%d/records?%s", partition, params)).Want(http.StatusOK).Decode(&got)
	return got
}

func texts(got rest.ReadAnswer) []string {
	list := []string{}
	for _, r := range got.Records {
		if r.Value == nil {
			list = append(list, "<none>")
			continue
		}
		list = append(list, *r.Value)
	}
	return list
}

func wantTexts(tb testing.TB, got rest.ReadAnswer, want ...string) {
	tb.Helper()
	if diff := cmp.Diff(append([]string{}, want...), texts(got)); diff != "" {
		tb.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestTopicIsCreatedReplacedAndDeleted(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Get("/v1/topics/t").Refused(http.StatusNotFound, "not_found", "")
	created := srv.Put("/v1/topics/t", `{"partitions":3,"retention":{"age":"2d"}}`).Want(http.StatusCreated)
	if got := created.Header.Get("Location"); got != "/v1/topics/t" {
		t.Errorf("Location = %q", got)
	}
	var topic rest.Topic
	created.Decode(&topic)
	want := rest.Topic{
		Name: "t",
		Config: rest.TopicConfig{
			Partitions: 3, Retention: rest.TopicRetention{Age: rest.Duration(48 * time.Hour)}, MaxRecordBytes: 1 << 20, Acks: "leader", MinInsyncReplicas: 1,
		},
		Partitions: []rest.Partition{{Partition: 0}, {Partition: 1}, {Partition: 2}},
	}
	if diff := cmp.Diff(want, topic); diff != "" {
		t.Errorf("topic (-want +got):\n%s", diff)
	}
	srv.Get("/v1/topics/t", "If-None-Match", created.Header.Get("ETag")).Want(http.StatusNotModified)
	srv.Get("/v1/topics/t", "If-None-Match", `"1"`).Want(http.StatusOK)
	srv.Put("/v1/topics/t", "", "If-None-Match", "*").Refused(http.StatusPreconditionFailed, "conflict", "If-None-Match")
	srv.Put("/v1/topics/t", "", "If-Match", `"1"`).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Put("/v1/topics/t", `{"partitions":2}`).Refused(http.StatusConflict, "conflict", "partitions")
	srv.Put("/v1/topics/t", `{"partitions":5}`, "If-Match", created.Header.Get("ETag")).Want(http.StatusOK).Has(`"partition":4`)
	srv.Put("/v1/topics/t", "").Want(http.StatusOK).Has(`"partitions":5`).Has(`"age":"168h"`)
	srv.Delete("/v1/topics/t", "If-Match", `"1"`).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Delete("/v1/topics/t").Want(http.StatusNoContent)
	srv.Delete("/v1/topics/t").Refused(http.StatusNotFound, "not_found", "")
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"a"}]}`).Refused(http.StatusNotFound, "not_found", "")
}

func TestTopicConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	for body, field := range map[string]string{
		`{"partitions":0,"acks":"none"}`:  "acks",
		`{"partitions":1025}`:             "partitions",
		`{"partitions":-1}`:               "partitions",
		`{"min_insync_replicas":2}`:       "min_insync_replicas",
		`{"min_insync_replicas":0}`:       "min_insync_replicas",
		`{"min_insync_replicas":33}`:      "min_insync_replicas",
		`{"retention":{"age":"0s"}}`:      "retention.age",
		`{"retention":{"bytes":-1}}`:      "retention.bytes",
		`{"max_record_bytes":0}`:          "max_record_bytes",
		`{"compaction":{"enabled":true}}`: "compaction.enabled",
		`{"retention":"7d"}`:              "retention",
	} {
		srv.Put("/v1/topics/t", body).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Put("/v1/topics/t", `{"segment_bytes":1}`).Refused(http.StatusBadRequest, "unknown_field", "segment_bytes")
	srv.Put("/v1/topics/t", `{"fifo":true}`).Refused(http.StatusBadRequest, "unknown_field", "fifo")
	srv.Put("/v1/topics/a.fifo", "").Refused(http.StatusBadRequest, "invalid_request", "name")
	srv.Put("/v1/topics/"+strings.Repeat("x", 81), "").Refused(http.StatusBadRequest, "invalid_request", "name")
	srv.Put("/v1/topics/t", `{"compaction":{"enabled":false},"acks":"all","min_insync_replicas":1,"retention":null}`).Want(http.StatusCreated)
	var shown rest.Topic
	srv.Put("/v1/topics/one", `{"acks":"1"}`).Want(http.StatusCreated).Decode(&shown)
	if shown.Config.Acks != "leader" {
		t.Errorf(`a topic that was created with acks "1" has %q, want "leader"`, shown.Config.Acks)
	}
}

func TestTopicsAreListedInPages(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/clicks-0", "").Want(http.StatusCreated) // a queue of the same name is another thing
	for i := range 5 {
		srv.Put(fmt.Sprintf("/v1/topics/clicks-%d", i), "").Want(http.StatusCreated)
	}
	srv.Put("/v1/topics/other", "").Want(http.StatusCreated)
	var got []string
	for cursor := ""; ; {
		var page rest.TopicList
		srv.Get("/v1/topics?prefix=clicks-&limit=2&cursor=" + url.QueryEscape(cursor)).Want(http.StatusOK).Decode(&page)
		for _, topic := range page.Topics {
			got = append(got, topic.Name)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"clicks-0", "clicks-1", "clicks-2", "clicks-3", "clicks-4"}, got); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

// TestAFormMayBeRecords is [TestAFormMayBeJSON] for topics.
func TestAFormMayBeRecords(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, tc := range []struct {
		sent, want string
		headers    []string
	}{
		{`{"records":[{"key":"k","value":"a"}]}`, `"key":"k","value":"a","headers"`, form},
		{`{"body":"a"}`, `"key":null,"value":"{\"body\":\"a\"}","headers"`, form},
		{`{"records":[],"more":1}`, `"value":"{\"records\":[],\"more\":1}","headers"`, form},
		{`a=1&b=2`, `"value":"a=1&b=2","headers"`, form},
		{`{"records":[{"value":"a"}]}`, `"value":"{\"records\":[{\"value\":\"a\"}]}","headers"`, []string{"Content-Type", ""}},
	} {
		srv.Put("/v1/topics/labels", "").Want(http.StatusCreated)
		srv.Post("/v1/topics/labels/records", tc.sent, tc.headers...).Want(http.StatusOK)
		srv.Get("/v1/topics/labels/partitions/0/records?offset=0").Want(http.StatusOK).Has(tc.want)
		srv.Delete("/v1/topics/labels").Want(http.StatusNoContent)
	}
	srv.Post("/v1/topics/t/records", `{"records":5}`, form...).Refused(http.StatusBadRequest, "invalid_request", "records")
}

// TestSeeksFinerThanAMillisecond: a record of 12:00:00.001 is before 12:00:00.0010001.
func TestSeeksFinerThanAMillisecond(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	produce(t, srv, `{"records":[
		{"value":"one","timestamp":"2026-12-01T12:00:00.001Z"},{"value":"two","timestamp":"2026-12-01T12:00:00.002Z"},
		{"value":"late","timestamp":"2026-12-01T12:00:00.002900Z"}]}`)
	for at, want := range map[string][]string{
		"12:00:00.001Z":          {"one", "two", "late"},
		"12:00:00.000999999Z":    {"one", "two", "late"},
		"12:00:00.0010001Z":      {"two", "late"},
		"12:00:00.001999999Z":    {"two", "late"},
		"13:00:00.0015%2B01:00":  {"two", "late"},
		"12:00:00.002Z":          {"two", "late"},
		"12:00:00.002000001Z":    {},
		"11:59:59.999999999999Z": {"one", "two", "late"},
	} {
		var got rest.ReadAnswer
		srv.Get("/v1/topics/t/partitions/0/records?offset=time:2026-12-01T" + at).Want(http.StatusOK).Decode(&got)
		values := []string{}
		for _, r := range got.Records {
			values = append(values, *r.Value)
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", at, diff)
		}
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	produce(t, srv, `{"records":[
		{"key":"k","value":"v","headers":{"kind":"book"},"timestamp":"2020-02-03T04:05:06.789Z"},
		{"value":null,"key":""},
		{"value_base64":"/w=="},
		{"value":""}]}`, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	srv.Post("/v1/topics/t/records?key=image", "\xff\x00raw", "Content-Type", "image/jpeg", "Dabba-Attr-Size", "4").Want(http.StatusOK)
	got := read(t, srv, 0, "")
	if got.NextOffset != 5 || got.HighWatermark != 5 || len(got.Records) != 5 {
		t.Fatalf("read = %d records, next %d, high watermark %d; want 5 of each", len(got.Records), got.NextOffset, got.HighWatermark)
	}
	first := got.Records[0]
	if *first.Key != "k" || *first.Value != "v" || string(first.Headers[0].Value) != "book" || first.TraceParent == "" ||
		!first.Timestamp.Equal(time.Date(2020, 2, 3, 4, 5, 6, 789e6, time.UTC)) {
		t.Errorf("first record = %+v", first)
	}
	if r := got.Records[1]; r.Value != nil || r.ValueBase64 != nil || *r.Key != "" {
		t.Errorf("tombstone = %+v", r)
	}
	if r := got.Records[2]; base64.StdEncoding.EncodeToString(r.ValueBase64) != "/w==" || r.Key != nil {
		t.Errorf("bytes = %+v", r)
	}
	if r := got.Records[3]; r.Value == nil || *r.Value != "" {
		t.Errorf("empty value = %+v", r)
	}
	if r := got.Records[4]; string(r.ValueBase64) != "\xff\x00raw" || r.ContentType != "image/jpeg" || *r.Key != "image" || r.Headers[0].Name != "size" {
		t.Errorf("raw record = %+v", r)
	}
	for i, r := range got.Records {
		if r.Offset != uint64(i) {
			t.Errorf("record %d has offset %d", i, r.Offset)
		}
	}
}

func TestRecordsOfOneKeyStayTogether(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, `{"partitions":8}`)
	where := make(map[int]uint32)
	used := make(map[uint32]bool)
	for round := range 3 {
		for key := range 40 {
			got := produce(t, srv, fmt.Sprintf(`{"records":[{"key":"user-%d","value":"v"}]}`, key))[0]
			if round > 0 && where[key] != got.Partition {
				t.Fatalf("key %d went to partition %d, then to %d", key, where[key], got.Partition)
			}
			where[key], used[got.Partition] = got.Partition, true
		}
	}
	if len(used) != 8 {
		t.Errorf("40 keys use %d partitions of 8", len(used))
	}
	clear(used)
	for range 8 {
		got := produce(t, srv, `{"records":[{"value":"a"},{"value":"b"}]}`)
		if got[0].Partition != got[1].Partition || got[1].Offset != got[0].Offset+1 {
			t.Errorf("records without a key went to %+v, want one partition", got)
		}
		used[got[0].Partition] = true
	}
	if len(used) != 8 {
		t.Errorf("8 produces without a key use %d partitions of 8", len(used))
	}
}

func TestProduceIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, `{"max_record_bytes":10,"partitions":2}`)
	for body, field := range map[string]string{
		`{}`:             "records",
		`{"records":[]}`: "records",
		`{"records":[{"value":"a"},{"key":"k"}]}`:                                                   "records[1].value",
		`{"records":[{"value":"a","value_base64":"YQ=="}]}`:                                         "records[0].value",
		`{"records":[{"value":"a"},{"value":7}]}`:                                                   "records[1].value",
		`{"records":[{"value":"a"},{"value":"b","partition":2}]}`:                                   "records[1].partition",
		`{"records":[{"value":"a"},{"value":"b","timestamp":"yesterday"}]}`:                         "records[1].timestamp",
		`{"records":[{"value":"a","partition":0},{"value":"b","partition":1}],"expected_offset":0}`: "expected_offset",
	} {
		srv.Post("/v1/topics/t/records", body).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"a"},{"value":"12345678901"}]}`).Refused(http.StatusRequestEntityTooLarge, "too_large", "records[1]")
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"a","ttl":"1s"}]}`).Refused(http.StatusBadRequest, "unknown_field", "records[0].ttl")
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"a"}]}`, "Producer-Id", "p").Refused(http.StatusBadRequest, "invalid_request", "Producer-Id")
	srv.Post("/v1/topics/t/records", `{"records":[`+strings.Repeat(`{"value":"a"},`, 1000)+`{"value":"a"}]}`).Refused(http.StatusBadRequest, "invalid_request", "records")
	for partition := range 2 {
		if got := read(t, srv, partition, ""); got.HighWatermark != 0 {
			t.Errorf("partition %d has %d records, want none", partition, got.HighWatermark)
		}
	}
}

func TestExpectedOffset(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"a"},{"value":"b"}],"expected_offset":0}`).Want(http.StatusOK)
	refused := srv.Post("/v1/topics/t/records", `{"records":[{"value":"c"}],"expected_offset":0}`).Refused(http.StatusConflict, "conflict", "expected_offset")
	refused.Has(`"high_watermark":2`)
	srv.Post("/v1/topics/t/records?expected_offset=2", "c", "Content-Type", "text/plain").Want(http.StatusOK).Has(`"offset":2`)
	wantTexts(t, read(t, srv, 0, ""), "a", "b", "c")
}

func TestARepeatedProduceAppendsOnce(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, `{"partitions":4}`)
	body := `{"records":[{"value":"a"},{"key":"k","value":"b"},{"key":"other","value":"c"},{"value":"d"}]}`
	first := produce(t, srv, body, "Idempotency-Key", "one")
	srv.Put("/v1/topics/t", `{"partitions":7}`).Want(http.StatusOK) // keys go elsewhere now
	produce(t, srv, `{"records":[{"value":"between"}]}`)
	var again rest.ProduceAnswer
	srv.Post("/v1/topics/t/records", body, "Idempotency-Key", "one").Want(http.StatusOK).Decode(&again)
	if !again.Duplicate {
		t.Errorf("the repeat says duplicate %v, want true", again.Duplicate)
	}
	for i := range first {
		first[i].Duplicate = true
	}
	if diff := cmp.Diff(first, again.Results); diff != "" {
		t.Errorf("results of the repeat (-first +repeat):\n%s", diff)
	}
	srv.Post("/v1/topics/t/records", `{"records":[{"value":"e"}]}`, "Idempotency-Key", "one").Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	total := uint64(0)
	for p := range 7 {
		total += read(t, srv, p, "").HighWatermark
	}
	if total != 5 {
		t.Errorf("%d records were appended, want 5", total)
	}
}

func TestReadStartsWhereItIsTold(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, `{"partitions":2}`)
	for i, value := range []string{"a", "b", "c", "d"} {
		produce(t, srv, fmt.Sprintf(`{"records":[{"value":%q,"partition":0,"timestamp":"2026-01-0%dT00:00:00Z"}]}`, value, i+1))
	}
	wantTexts(t, read(t, srv, 0, "offset=2"), "c", "d")
	wantTexts(t, read(t, srv, 0, "offset=earliest&max=1"), "a")
	wantTexts(t, read(t, srv, 0, "offset=latest"))
	wantTexts(t, read(t, srv, 0, "offset=4"))
	wantTexts(t, read(t, srv, 0, "offset=0&max_bytes=2"), "a", "b")
	wantTexts(t, read(t, srv, 0, "offset=time:2026-01-02T12:00:00Z"), "c", "d")
	wantTexts(t, read(t, srv, 0, "offset=time:2026-01-02T02:00:00%2B02:00"), "b", "c", "d")
	wantTexts(t, read(t, srv, 0, "offset=time:2027-01-01T00:00:00Z"))
	wantTexts(t, read(t, srv, 0, "isolation=read_committed&offset=3"), "d")
	wantTexts(t, read(t, srv, 1, ""))

	full := srv.Get("/v1/topics/t/partitions/0/records?offset=0&max=2").Want(http.StatusOK)
	if got := full.Header.Get("Cache-Control"); got != "private, max-age=60" {
		t.Errorf("Cache-Control of a full answer = %q", got)
	}
	tail := srv.Get("/v1/topics/t/partitions/0/records?offset=0").Want(http.StatusOK)
	if got := tail.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control of an answer at the end = %q", got)
	}

	path := "/v1/topics/t/partitions/0/records"
	srv.Get(path+"?offset=5").Refused(http.StatusRequestedRangeNotSatisfiable, "offset_out_of_range", "offset").Has(`"high_watermark":4`)
	for params, field := range map[string]string{
		"offset=x": "offset", "offset=-1": "offset", "offset=time:now": "offset", "max=0": "max", "max=10001": "max",
		"max_bytes=0": "max_bytes", "wait=2h": "wait", "isolation=x": "isolation",
	} {
		srv.Get(path+"?"+params).Refused(http.StatusBadRequest, "invalid_request", field)
	}
	srv.Get("/v1/topics/t/partitions/2/records").Refused(http.StatusNotFound, "not_found", "partition")
	srv.Get("/v1/topics/t/partitions/x/records").Refused(http.StatusBadRequest, "invalid_request", "partition")
	srv.Get("/v1/topics/none/partitions/0/records").Refused(http.StatusNotFound, "not_found", "")
}

func TestTrimRemovesOlderRecords(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	values(t, srv, "a", "b", "c", "d")
	path := "/v1/topics/t/partitions/0/records"
	var left rest.Partition
	srv.Delete(path + "?before=2").Want(http.StatusOK).Decode(&left)
	if left.FirstOffset != 2 || left.HighWatermark != 4 {
		t.Errorf("left = %+v, want 2 to 4", left)
	}
	var gone problem.Document
	srv.Get(path+"?offset=1").Refused(http.StatusGone, "offset_trimmed", "offset").Decode(&gone)
	if gone.FirstOffset == nil || *gone.FirstOffset != 2 {
		t.Errorf("first_offset = %v, want 2", gone.FirstOffset)
	}
	wantTexts(t, read(t, srv, 0, "offset=earliest"), "c", "d")
	srv.Delete(path + "?before=1").Want(http.StatusOK).Has(`"first_offset":2`)
	srv.Delete(path+"?before=5").Refused(http.StatusRequestedRangeNotSatisfiable, "offset_out_of_range", "before")
	srv.Delete(path).Refused(http.StatusBadRequest, "invalid_request", "before")
	srv.Delete(path + "?before=latest").Want(http.StatusOK).Has(`"first_offset":4`).Has(`"bytes":0`)
	wantTexts(t, read(t, srv, 0, "offset=earliest"))
	values(t, srv, "e")
	wantTexts(t, read(t, srv, 0, "offset=4"), "e")
}

func TestReadsWaitForRecords(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, `{"partitions":2}`)
	const readers = 5
	got := make(chan rest.ReadAnswer, readers)
	for range readers {
		go func() {
			var answer rest.ReadAnswer
			srv.Get("/v1/topics/t/partitions/0/records?offset=latest&wait=30s").Want(http.StatusOK).Decode(&answer)
			got <- answer
		}()
	}
	eventually(t, "all readers wait", func() bool { return waiting(t, srv) == readers })
	produce(t, srv, `{"records":[{"value":"elsewhere","partition":1}]}`)
	values(t, srv, "news")
	for range readers {
		wantTexts(t, <-got, "news")
	}
	wantTexts(t, read(t, srv, 0, "offset=1&wait=1ms"))
}

func TestAWaitingReadEndsWithItsTopic(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	status := make(chan int, 1)
	go func() { status <- srv.Get("/v1/topics/t/partitions/0/records?wait=30s").Status }()
	eventually(t, "the reader waits", func() bool { return waiting(t, srv) == 1 })
	srv.Delete("/v1/topics/t").Want(http.StatusNoContent)
	if got := <-status; got != http.StatusNotFound {
		t.Errorf("the read was answered %d, want 404", got)
	}
}

func TestCommittedOffsets(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, `{"partitions":3}`)
	path := "/v1/topics/t/offsets/billing"
	srv.Get(path).Refused(http.StatusNotFound, "not_found", "name")
	first := srv.Put(path, `{"offsets":{"0":124}}`, "If-None-Match", "*").Want(http.StatusOK).Has(`{"name":"billing","offsets":{"0":124}}`)
	srv.Put(path, `{"offsets":{"0":1}}`, "If-None-Match", "*").Refused(http.StatusPreconditionFailed, "conflict", "If-None-Match")
	second := srv.Put(path, `{"offsets":{"2":7}}`, "If-Match", first.Header.Get("ETag")).Want(http.StatusOK).Has(`{"0":124,"2":7}`)
	srv.Put(path, `{"offsets":{"0":1}}`, "If-Match", first.Header.Get("ETag")).Refused(http.StatusPreconditionFailed, "conflict", "If-Match")
	srv.Put(path, `{"offsets":{"0":130,"2":8},"expected":{"0":124,"2":6}}`).Refused(http.StatusConflict, "conflict", "expected.2")
	srv.Put(path, `{"offsets":{"1":1},"expected":{"1":0}}`).Refused(http.StatusConflict, "conflict", "expected.1")
	srv.Put(path, `{"offsets":{"0":130},"expected":{"0":124}}`).Want(http.StatusOK)
	got := srv.Get(path).Want(http.StatusOK).Has(`{"0":130,"2":7}`)
	if got.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Error("the ETag did not change with the offsets")
	}
	// Partition 1 has none yet, and null says so: of one partition, or of all that are given.
	srv.Put(path, `{"offsets":{"0":131,"1":1},"expected":{"1":null,"0":null}}`).Refused(http.StatusConflict, "conflict", "expected.0")
	srv.Put(path, `{"offsets":{"0":131,"1":1},"expected":null}`).Refused(http.StatusConflict, "conflict", "expected.0").Has("is 130, not none")
	srv.Put(path, `{"offsets":{"0":130,"1":1},"expected":{"0":130,"1":null}}`).Want(http.StatusOK)
	srv.Put(path, `{"offsets":{"1":1},"expected":{"1":null}}`).Refused(http.StatusConflict, "conflict", "expected.1")
	srv.Put("/v1/topics/t/offsets/fresh", `{"offsets":{"1":1},"expected":null}`).Want(http.StatusOK)
	srv.Put("/v1/topics/t/offsets/fresh", `{"offsets":{"1":1},"expected":null}`).Refused(http.StatusConflict, "conflict", "expected.1")
	got = srv.Get(path).Want(http.StatusOK).Has(`{"0":130,"1":1,"2":7}`)
	srv.Get(path, "If-None-Match", got.Header.Get("ETag")).Want(http.StatusNotModified)
	srv.Get(path, "If-None-Match", second.Header.Get("ETag")).Want(http.StatusOK)
	srv.Put(path, `{"offsets":{"3":1}}`).Refused(http.StatusBadRequest, "invalid_request", "offsets")
	srv.Put(path, `{}`).Refused(http.StatusBadRequest, "invalid_request", "offsets")
	srv.Put(path, `{"offsets":{"x":1}}`).Refused(http.StatusBadRequest, "invalid_request", "offsets.x")
	srv.Put(path, `{"offsets":null}`).Refused(http.StatusBadRequest, "invalid_request", "offsets")
	srv.Put(path, `{"offsets":{"1":1,"0":null}}`).Refused(http.StatusBadRequest, "invalid_request", "offsets[0]")
	srv.Put(path, `{"offsets":{"1":1},"expected":{"0":"none"}}`).Refused(http.StatusBadRequest, "invalid_request", "expected[0]")
	srv.Put(path, `{"offsets":{"1":1},"expected":7}`).Refused(http.StatusBadRequest, "invalid_request", "expected")
	srv.Put(path, `{"offsets":{"1":"1"}}`).Refused(http.StatusBadRequest, "invalid_request", "offsets[1]")
	srv.Put("/v1/topics/t/offsets/a.b", `{"offsets":{"0":1}}`).Refused(http.StatusBadRequest, "invalid_request", "name")
	srv.Put("/v1/topics/none/offsets/n", `{"offsets":{"0":1}}`).Refused(http.StatusNotFound, "not_found", "")

	srv.Delete("/v1/topics/t").Want(http.StatusNoContent)
	srv.Put("/v1/topics/t", "").Want(http.StatusCreated)
	srv.Get(path).Refused(http.StatusNotFound, "not_found", "name")
	wantTexts(t, read(t, srv, 0, ""))
}

func TestOneOfManyCommitsWins(t *testing.T) {
	t.Parallel()
	srv := withTopic(t, "")
	path := "/v1/topics/t/offsets/n"
	srv.Put(path, `{"offsets":{"0":0}}`).Want(http.StatusOK)
	const writers = 8
	statuses := make(chan int, writers)
	for i := range writers {
		go func() { statuses <- srv.Put(path, fmt.Sprintf(`{"offsets":{"0":%d},"expected":{"0":0}}`, i+1)).Status }()
	}
	won := 0
	for range writers {
		switch status := <-statuses; status {
		case http.StatusOK:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("a commit was answered %d", status)
		}
	}
	if won != 1 {
		t.Errorf("%d commits won, want 1", won)
	}
}
