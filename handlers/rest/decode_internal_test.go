package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
)

// sends are seeds for the decoders of sends: what clients send, and what they should not.
var sends = []string{
	``, ` `, `{}`, `null`, `[]`, `"x"`, `{"body":"x"}`, `{"body":null}`, `{"body":""}`, `{"body":"a\"b\\\u00e9\ud83d\ude00\n"}`,
	`{"body":"x","attributes":{}}`, `{"attributes":{"a":"b","c":"d"},"body":"x"}`, `{"body":"x","attributes":{"a":"b","a":"c"}}`,
	`{"body":"x","attributes":{"a":{"type":"Number","value":"1"}}}`, `{"body":"x","attributes":{"a":"b",}}`, `{"body":"x",}`,
	`{"messages":[]}`, `{"messages":[{"body":"x"},{"body":"y","attributes":{"\u0061":"\t"}}]}`, `{"messages":[{"body":"x"},]}`,
	`{"messages":[{}]}`, `{"messages":[{"body":"x"}],"body":"y"}`, `{"body":"x","body":"y"}`, `{"body":"x"} `, `{"body":"x"}x`,
	`{"bod\u0079":"x"}`, "{\"body\":\"\xff\"}", "{\"body\":\"a\nb\"}", `{"body":"\ud800"}`, `{"body":"\"}`, `{"body":"\\"}`, `{"body":"\\\""}`,
	`{"body":"x","delay":"5s","deliver_at":"2026-11-29T16:50:00Z"}`, `{"body_base64":"aGk="}`, `{"body":"x","priority":1}`,
	`{"body":"héllo wörld, a longer text","attributes":{"": ""}}`, "\ufeff{\"body\":\"x\"}", "{\"body\":\"12345678\x0112345678\"}",
	`{"body":"x","group":"g","dedup_id":"d","priority":9}`, `{"priority":0,"group":"","dedup_id":"","body":""}`,
	`{"body":"x","group":"","group":"g"}`, `{"body":"x","priority":10}`, `{"body":"x","priority":05}`, `{"body":"x","priority":5.0}`,
	`{"body":"x","priority":1e1}`, `{"body":"x","priority":0,"priority":0}`, `{"body":"x","group":null}`, `{"body":"x","ttl":"5s"}`,
	`{"messages":[{"group":"g","body":"x"},{"body":"y","dedup_id":"\u0061","priority": 3 }]}`, `{"group":"g"}`, `{"body":"x","group":5}`,
	`{"body":"x","attributes":null}`, strings.Repeat(`{"messages":[`, 50),
}

// FuzzSend checks that the short way and the strict decoder agree: what the short way takes, the strict decoder reads
// the same, and every refusal is a clear one.
func FuzzSend(f *testing.F) {
	for _, seed := range sends {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		strict, strictMany, err := decodeSend(b)
		if err != nil {
			checkRefusal(t, b, err)
		}
		short, shortMany, ok := scanSend(b)
		if !ok {
			return
		}
		if err != nil {
			t.Fatalf("scanSend(%q) takes what decodeSend refuses: %v", b, err)
		}
		for i := range strict {
			if len(strict[i].Attributes) == 0 {
				strict[i].Attributes = nil
			}
		}
		for i := range short {
			if len(short[i].Attributes) == 0 {
				short[i].Attributes = nil
			}
		}
		if diff := cmp.Diff(strict, short); diff != "" || strictMany != shortMany {
			t.Fatalf("scanSend(%q), many %v (-strict, many %v, +short):\n%s", b, shortMany, strictMany, diff)
		}
	})
}

// checkRefusal says what is wrong with a refusal of a request body.
func checkRefusal(t *testing.T, b []byte, err error) {
	t.Helper()
	e, ok := errors.AsType[*engine.Error](err)
	if !ok {
		t.Fatalf("%q is refused with %T, want an engine error: %v", b, err, err)
	}
	if e.Code != engine.CodeInvalidRequest && e.Code != engine.CodeUnknownField {
		t.Fatalf("%q is refused with code %s", b, e.Code)
	}
	if e.Detail == "" || e.Outcome != engine.NotApplied || len(e.Field) > 300 || statusOf(e) != 400 {
		t.Fatalf("%q is refused with %+v", b, *e)
	}
	if strings.Contains(e.Detail, "Go ") || strings.Contains(e.Detail, "json:") {
		t.Fatalf("%q is refused in a programmer's words: %s", b, e.Detail)
	}
}

// fuzzDecode fuzzes the decoder of one kind of request; use is what the handler does with it next.
func fuzzDecode[T any](f *testing.F, use func(*T) error, seeds ...string) {
	for _, seed := range append(seeds, ``, `{}`, `{"`, `[]`, `null`, `{"a":1}`, "{\"\xff\":1}") {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var req T
		err := decode(b, &req)
		if err == nil {
			err = use(&req)
		}
		if err != nil {
			checkRefusal(t, b, err)
		}
	})
}

func FuzzReceive(f *testing.F) {
	fuzzDecode(f, func(*ReceiveRequest) error { return nil },
		`{"max":10,"wait":"20s","visibility":30.5,"consumer":"worker-7"}`, `{"max":1e3,"attempt_id":"a"}`, `{"wait":"1d12h"}`, `{"wait":1e300}`)
}

func FuzzAck(f *testing.F) {
	fuzzDecode(f, func(*AckRequest) error { return nil }, `{"receipts":["a","b"]}`, `{"receipts":[null]}`)
}

func FuzzNack(f *testing.F) {
	fuzzDecode(f, func(req *NackRequest) error {
		_, err := req.engine()
		return err
	}, `{"items":[{"receipt":"a","reason":"b","delay":"1s","dead":true}]}`, `{"receipts":["a"],"delay":1,"reason":"b"}`)
}

func FuzzExtend(f *testing.F) {
	fuzzDecode(f, func(req *ExtendRequest) error {
		_, err := req.engine()
		return err
	}, `{"items":[{"receipt":"a","visibility":"60s"}]}`, `{"receipts":["a"],"visibility":60}`)
}

// FuzzConfig checks that a configuration which is read is written so that it reads the same, and that a patch onto it
// is either refused or makes a configuration of which the same holds.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"visibility":null}`, `{"retry":{"policy":"fixed","base":"2s"},"tags":{"a":"b"}}`, `{"tags":{"a":null}}`,
		`{"delay":1.5,"retention":"14d","wait":"20s"}`, `{"dead_letter":{"allow_from":[]},"ageing":0,"ack":"on_receive"}`,
		`{"fifo":true,"dedup":{"content_based":true,"window":60,"scope":"group"},"limits":{"max_messages":5,"overflow":"block","rate":0.5}}`,
		`{"limits":{"rate":-1,"max_in_flight":5e9}}`, `{"priorities":10,"fair":null,"history":true,"limits":null}`, `{"retry":null,"dead_letter":{"queue":"d","when":"lazy"}}`, `{"retry":5}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		patch, err := decodePatch(b)
		if err != nil {
			checkRefusal(t, b, err)
			return
		}
		config, err := patch.alone()
		if err != nil {
			t.Fatalf("decodePatch takes %q, which then does not read: %v", b, err)
		}
		again, err := configPatch(`{}`).onto(config)
		if err != nil {
			t.Fatalf("the configuration of %q does not read again: %v", b, err)
		}
		if diff := cmp.Diff(config, again); diff != "" && len(config.Tags) > 0 {
			t.Fatalf("%q (-read +read again):\n%s", b, diff)
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"30s", "5m", "12h", "1h30m", "4d", "4d12h", "1.5s", "250ms", "20", "0.5", "-1", "1e9", "NaN", "Inf", "0x10", "d", "", "9999999d", "1d-1h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := parseDuration(s)
		if !ok {
			return
		}
		written := Duration(d).String()
		if again, ok := parseDuration(written); !ok || again != d {
			t.Fatalf("parseDuration(%q) = %d, written %q, read again as %d, %v", s, d, written, again, ok)
		}
	})
}

func FuzzCursor(f *testing.F) {
	r := httptest.NewRequestWithContext(f.Context(), http.MethodGet, "/v1/queues", nil)
	for _, seed := range []string{"", parameters{}.encodeCursor(r, "orders"), "AQ", "!", "Ag", "AgAAAAA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		after, err := parameters{"cursor": s, "limit": "7"}.decodeCursor(r)
		if err != nil {
			checkRefusal(t, []byte(s), err)
			return
		}
		if s != "" && (parameters{}).encodeCursor(r, after) != s {
			t.Fatalf("decodeCursor(%q) = %q, which encodes as %q", s, after, parameters{}.encodeCursor(r, after))
		}
	})
}

func FuzzTraceParent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-brings")
	f.Add("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Fuzz(func(t *testing.T, s string) {
		if isTraceParent(s) && (len(s) < 55 || len(s) > 128 || s[:2] == "ff") {
			t.Fatalf("isTraceParent(%q) = true", s)
		}
	})
}

func TestDurationsAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in  string
		is  time.Duration
		out string
	}{
		{"30s", 30 * time.Second, "30s"},
		{"90s", 90 * time.Second, "90s"},
		{"5m", 5 * time.Minute, "5m"},
		{"300s", 5 * time.Minute, "5m"},
		{"1h30m", 90 * time.Minute, "90m"},
		{"4d", 96 * time.Hour, "96h"},
		{"1d12h", 36 * time.Hour, "36h"},
		{"20", 20 * time.Second, "20s"},
		{"0.25", 250 * time.Millisecond, "250ms"},
		{"1500ms", 1500 * time.Millisecond, "1.5s"},
		{"0", 0, "0s"},
		{"-5s", -5 * time.Second, "-5s"},
	} {
		got, ok := parseDuration(tc.in)
		if !ok || got != tc.is || Duration(got).String() != tc.out {
			t.Errorf("parseDuration(%q) = %s, %v, written %s; want %s, written %s", tc.in, got, ok, Duration(got), tc.is, tc.out)
		}
	}
	for _, in := range []string{"", "s", "soon", "1w", "0x10", "NaN", "-Inf", "1e300", "99999d99999999h", "-1d", "1dd", "1d-2h"} {
		if got, ok := parseDuration(in); ok {
			t.Errorf("parseDuration(%q) = %s, want it refused", in, got)
		}
	}
}

func TestScanSendTakesTheUsualShapes(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"body":"x"}`, ` { "body" : "x" } `, `{"body":"a\"b"}`, `{"attributes":{"a":"b"},"body":"x"}`, `{"body":"x","attributes":{}}`,
		`{"messages":[{"body":"x"},{"body":"y","attributes":{"a":"b"}}]}`,
		`{"body":"x","group":"g","dedup_id":"d","priority":9}`, `{"priority" : 0 ,"body":"x"}`,
	} {
		if _, _, ok := scanSend([]byte(in)); !ok {
			t.Errorf("scanSend(%s) leaves it to the strict decoder", in)
		}
	}
}

func BenchmarkScanSend(b *testing.B) { benchmarkSend(b, scanSend) }
func BenchmarkDecodeSend(b *testing.B) {
	benchmarkSend(b, func(body []byte) ([]engine.Message, bool, bool) {
		m, many, err := decodeSend(body)
		return m, many, err == nil
	})
}

func benchmarkSend(b *testing.B, decode func([]byte) ([]engine.Message, bool, bool)) {
	body := []byte(`{"body":"` + strings.Repeat("x", 1024) + `"}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := decode(body); !ok {
			b.Fatal("refused")
		}
	}
}

func TestListsWithoutEndCostLittle(t *testing.T) {
	for name, decode := range map[string]func([]byte) error{
		"messages": func(b []byte) error {
			if _, _, ok := scanSend(b); ok {
				return nil
			}
			_, _, err := decodeSend(b)
			return err
		},
		"receipts": func(b []byte) error { return decode(b, new(AckRequest)) },
		"items":    func(b []byte) error { return decode(b, new(NackRequest)) },
	} {
		entry := map[string]string{"messages": `{"body":""},`, "receipts": `"",`, "items": `{},`}[name]
		body := []byte(`{"` + name + `":[` + strings.Repeat(entry, 4<<20/len(entry)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode(body)
		runtime.ReadMemStats(&after)
		checkRefusal(t, body[:20], err)
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 3<<20 {
			t.Errorf("refusing 4 MiB of %s took %d bytes of memory, want at most 3 MiB", name, cost)
		}
	}
}

func TestConfigOutlivesTheMemoryOfItsRequest(t *testing.T) {
	t.Parallel()
	memory := []byte(`{"delay":"1s"}`)
	patch, err := decodePatch(memory)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory, `{"delay":"2s"}`) // the next request
	for name, read := range map[string]func() (engine.QueueConfig, error){
		"alone": patch.alone, "onto": func() (engine.QueueConfig, error) { return patch.onto(engine.DefaultConfig()) },
	} {
		if got, err := read(); err != nil || got.Delay != time.Second {
			t.Errorf("%s: delay %v, %v; want 1s", name, got.Delay, err)
		}
	}
}
