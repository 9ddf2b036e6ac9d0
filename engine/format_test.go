package engine

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// What is on disk must stay readable: a change here needs a new version.

func TestPayloadFormat(t *testing.T) {
	t.Parallel()
	m := Message{
		Body: []byte("body"), ContentType: "ct", TraceParent: "tp",
		Attributes: []Attribute{{Name: "n", Type: "ty", Value: []byte("val")}},
	}
	const want = "01" + "026374" + "027470" + "01" + "016e" + "027479" + "0376616c" + "626f6479"
	if got := hex.EncodeToString(encode(&m)); got != want {
		t.Errorf("payload: got %s, want %s", got, want)
	}
	m.DedupID = "di"
	const withID = "02" + "026374" + "027470" + "026469" + "01" + "016e" + "027479" + "0376616c" + "626f6479"
	if got := hex.EncodeToString(encode(&m)); got != withID {
		t.Errorf("payload with a deduplication id: got %s, want %s", got, withID)
	}
}

func TestReceiptFormat(t *testing.T) {
	t.Parallel()
	const want = "AQAAAAAAAAMAAAAAAAAABwAAAAAAAAAFAAAAApfSsKv_VGvI"
	if got := string(testReceipts(t).stamper(7, 3).append(nil, 5, 2)); got != want {
		t.Errorf("receipt: got %s, want %s", got, want)
	}
}

func TestRecordFormat(t *testing.T) {
	t.Parallel()
	const (
		base = `"id":"18446744073709551615","visibility":30000000000,"delay":1000000000,` +
			`"retention":345600000000000,"max_message_bytes":1048576,"wait":2000000000,` +
			`"retry":{"policy":"exponential","base":1000000000,"cap":300000000000,"jitter":"full","max_receives":3},`
		first  = `{"version":1,` + base + `"dead_letter":{"queue":"grave","when":"lazy"},"tags":{"k":"v"}}`
		second = `{"version":2,` + base + `"dead_letter":{"queue":"grave","when":"lazy"},"tags":{"k":"v"},` +
			`"dedup":{"window":300000000000,"scope":"queue"},"limits":{"overflow":"reject"},` +
			`"priorities":1,"ageing":60000000000,"ack":"explicit"}`
		third = `{"version":3,` + base + `"dead_letter":{"queue":"grave","when":"lazy"},"tags":{"k":"v"},` +
			`"dedup":{"window":300000000000,"scope":"queue"},"limits":{"overflow":"reject"},` +
			`"priorities":1,"ageing":60000000000,"ack":"explicit","group_lock":"whole"}`
		fourth = `{"version":4,` + base + `"dead_letter":{"queue":"grave","when":"lazy"},"tags":{"k":"v"},` +
			`"dedup":{"window":300000000000,"scope":"queue"},"limits":{"overflow":"reject"},` +
			`"priorities":1,"ageing":60000000000,"ack":"explicit","group_lock":"whole",` +
			`"acks":"leader","min_insync_replicas":1,"shards":1}`
		whole = `{"version":4,` + base + `"dead_letter":{"queue":"grave","when":"lazy","expired":true,"allow_from":[]},` +
			`"tags":{"k":"v"},"fifo":true,"dedup":{"content_based":true,"window":1000000000,"scope":"group"},` +
			`"limits":{"max_messages":1,"max_bytes":2,"overflow":"sample","max_in_flight":3,"per_group_in_flight":4,` +
			`"rate":0.5,"per_group_rate":6},"priorities":10,"ageing":0,"fair":true,"ack":"on_receive","history":true,` +
			`"paused":{"produce":true,"consume":true,"consume_until":"2026-11-29T16:50:00Z"},` +
			`"group_lock":"tail","notes":{"a":"b"},"acks":"all","min_insync_replicas":2,"shards":8,` +
			`"created_at":"2026-11-29T16:40:00.000000001Z","changed_at":"2026-11-29T16:45:00Z"}`
		id = store.QueueID(1<<64 - 1)
	)
	c := DefaultConfig()
	c.Delay, c.Wait, c.Retry.MaxReceives = time.Second, 2*time.Second, 3
	c.DeadLetter, c.Tags = DeadLetter{Queue: "grave", When: Lazy}, map[string]string{"k": "v"}
	all := c.clone()
	all.FIFO, all.Fair, all.Ack, all.History = true, true, AckOnReceive, true
	all.DeadLetter.Expired, all.DeadLetter.AllowFrom = true, []string{}
	all.Dedup = Dedup{ContentBased: true, Window: time.Second, Scope: ScopeGroup}
	all.Limits = Limits{
		MaxMessages: 1, MaxBytes: 2, Overflow: OverflowSample, MaxInFlight: 3, PerGroupInFlight: 4, Rate: 0.5, PerGroupRate: 6,
	}
	all.Priorities, all.Ageing = 10, 0
	all.Acks, all.MinInsyncReplicas, all.Shards = AcksAll, 2, 8
	all.GroupLock, all.Notes = GroupLockTail, map[string]string{"a": "b"}
	created, changed := time.Date(2026, 11, 29, 16, 40, 0, 1, time.UTC), time.Date(2026, 11, 29, 16, 45, 0, 0, time.UTC)
	until := Pause{Produce: true, Consume: true, ConsumeUntil: time.Date(2026, 11, 29, 16, 50, 0, 0, time.UTC)}
	for _, f := range []struct {
		text             string
		written          bool
		config           QueueConfig
		pause            Pause
		created, changed time.Time
	}{
		{text: first, config: c},
		{text: second, config: c},
		{text: third, config: c},
		{text: fourth, written: true, config: c},
		{whole, true, all, until, created, changed},
	} {
		r, err := decodeRecord(store.Pair{Key: "q/t/n", Value: []byte(f.text), Revision: 9})
		if err != nil {
			t.Fatal(err)
		}
		want := record{id: id, config: f.config, pause: f.pause, createdAt: f.created, changedAt: f.changed, revision: 9}
		if diff := cmp.Diff(want, r, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("record %s (-want +got):\n%s", f.text, diff)
		}
		if !f.written {
			continue
		}
		if got, err := encodeRecord(r); err != nil || string(got) != f.text {
			t.Errorf("record: got  %s, %v\nwant %s", got, err, f.text)
		}
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]error{
		`{"version":5}`: store.ErrVersion,
		`{}`:            store.ErrVersion,
		`{"version":`:   store.ErrCorrupt,
		``:              store.ErrCorrupt,
	} {
		if _, err := decodeRecord(store.Pair{Key: "q/t/n", Value: []byte(value)}); !errors.Is(err, want) {
			t.Errorf("record %q: got %v, want %v", value, err, want)
		}
	}
	for _, key := range []string{"q/", "q/name", "q/%zz/name"} {
		if _, err := refOfKey(key); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("catalog key %q: got %v, want ErrCorrupt", key, err)
		}
	}
}

func TestCoolFormat(t *testing.T) {
	t.Parallel()
	if got, want := coolKey(Ref{"a/b", "q"}, "purge"), "cool/purge/a%2Fb/q"; got != want {
		t.Errorf("key: got %s, want %s", got, want)
	}
	want := time.Date(2026, 11, 29, 16, 50, 0, 0, time.UTC)
	now := store.Clock{Now: 5_000, Wall: want.Add(-time.Minute)}
	for value, refused := range map[string]error{
		`{"version":1,"until":"2026-11-29T16:50:00Z"}`:              nil,
		`{"version":1,"until":"2025-11-29T16:50:00Z","ends":65000}`: nil, // the clock was set since
		`{"version":2,"until":"2026-11-29T16:50:00Z"}`:              store.ErrVersion,
		`{"until":"2026-11-29T16:50:00Z"}`:                          store.ErrVersion,
		`{"version":1,"until":5}`:                                   store.ErrCorrupt,
	} {
		got, err := decodeCool(store.Pair{Key: "cool/purge/t/q", Value: []byte(value)}, now)
		if !errors.Is(err, refused) || err == nil && got != 65_000 {
			t.Errorf("cooling-off time %s: got %v, %v, want %v", value, got, err, refused)
		}
	}
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		secretKey: "\x02" + strings.Repeat("s", secretSize-1),
		"q/t/n":   `{"version":5}`,
	} {
		s := memory.New(memory.Options{Now: time.Now})
		if _, err := s.Put(t.Context(), key, []byte(value), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		rnd := strings.NewReader(strings.Repeat("random", 100))
		_, err := Open(t.Context(), s, Options{Now: time.Now, Rand: rnd})
		if !errors.Is(err, store.ErrVersion) || !strings.Contains(err.Error(), key) {
			t.Errorf("open with %s of another version: got %v, want ErrVersion that names it", key, err)
		}
	}
	if _, err := Open(t.Context(), memory.New(memory.Options{Now: time.Now}), Options{}); err == nil {
		t.Error("open without a clock: got no error")
	}
}
