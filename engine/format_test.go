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
	const written = `{"version":1,"id":"18446744073709551615","visibility":30000000000,"delay":1000000000,` +
		`"retention":345600000000000,"max_message_bytes":1048576,"wait":2000000000,` +
		`"retry":{"policy":"exponential","base":1000000000,"cap":300000000000,"jitter":"full","max_receives":3},` +
		`"dead_letter":{"queue":"grave","when":"lazy"},"tags":{"k":"v"}}`
	c := DefaultConfig()
	c.Delay, c.Wait, c.Retry.MaxReceives = time.Second, 2*time.Second, 3
	c.DeadLetter, c.Tags = DeadLetter{Queue: "grave", When: Lazy}, map[string]string{"k": "v"}
	const id = store.QueueID(1<<64 - 1)
	got, err := encodeRecord(record{id: id, config: c})
	if err != nil || string(got) != written {
		t.Errorf("record: got %s, %v, want %s", got, err, written)
	}
	r, err := decodeRecord(store.Pair{Key: "q/t/n", Value: []byte(written), Revision: 9})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, r.config); diff != "" || r.id != id || r.revision != 9 {
		t.Errorf("record read again: id %d, revision %d, config (-want +got):\n%s", r.id, r.revision, diff)
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]error{
		`{"version":2}`: store.ErrVersion,
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

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		secretKey: "\x02" + strings.Repeat("s", secretSize-1),
		"q/t/n":   `{"version":2}`,
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
