package sqs

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"

	experiment "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func base64Of(p []byte) string { return base64.StdEncoding.EncodeToString(p) }

// answers are all that operations give.
var answers = []any{
	&nothing{}, &queueURLAnswer{}, &listQueuesAnswer{}, &getQueueAttributesAnswer{}, &listQueueTagsAnswer{},
	&listDeadLetterSourceQueuesAnswer{}, &startMessageMoveTaskAnswer{}, &cancelMessageMoveTaskAnswer{}, &listMessageMoveTasksAnswer{},
	&sent{}, &sendMessageBatchAnswer{}, &receiveMessageAnswer{}, &deleteMessageBatchAnswer{}, &changeMessageVisibilityBatchAnswer{},
}

// What is appended by hand is what the encoder would write.
func TestAnswersInJSON(t *testing.T) {
	t.Parallel()
	check := func(answer any) {
		t.Helper()
		var want, got any
		encoded, err := experiment.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		appended := appendAnswer(nil, answer)
		if err := json.Unmarshal(appended, &got); err != nil {
			t.Fatalf("%T is appended as %s: %v", answer, appended, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", answer, diff)
		}
	}
	for _, empty := range answers {
		check(empty)
		for seed := range uint64(5) {
			full := reflect.New(reflect.TypeOf(empty).Elem())
			(&filler{random: rand.New(rand.NewPCG(seed, 0)), noLists: true}).fill(full.Elem())
			check(full.Interface())
		}
	}
	failed := []failedEntry{{ID: "a", SenderFault: true, Code: "c"}}
	check(&sendMessageBatchAnswer{Failed: failed})
	check(&deleteMessageBatchAnswer{Failed: failed})
	check(&receiveMessageAnswer{Messages: []message{{}, {MessageAttributes: map[string]messageAttribute{"": {DataType: "Binary", BinaryValue: []byte{}}}}}})
}

func TestJSONTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{&receiveMessageAnswer{Messages: []message{{Body: "\xff"}}}, &queueURLAnswer{QueueURL: "\xff"}} {
		if got := string(appendAnswer(nil, answer)); !strings.Contains(got, "\ufffd") {
			t.Errorf("%+v is written as %s, want U+FFFD", answer, got)
		}
	}
}

func FuzzJSONDecode(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"QueueUrl":"q","MessageBody":"\ud800","DelaySeconds":1}`, `{"Entries":[{"Id":"a"},{}]}`, `{"TagKeys":["a"],"tags":{"a":"b"}}`,
		`{"MessageAttributes":{"n":{"DataType":"Binary","BinaryValue":"AAE=","StringListValues":["",""],"BinaryListValues":["AA=="]}}}`,
		`{"Unknown":[[[[{}]]]],"Entries":null}`, `{"MaxResults":1e2}`, "\xff",
	} {
		for name := range operations {
			f.Add(name, seed)
		}
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		op, ok := operations[name]
		if !ok {
			t.Skip()
		}
		in := op.input()
		if err := (&jsonProtocol{body: []byte(body), name: name}).decode(in); err != nil {
			if f := faultOf(err); f.kind != malformedRequest || f.message == "" {
				t.Fatalf("decode(%q) = %v, want a MalformedInput", body, err)
			}
			return
		}
		separators := strings.Count(body, ",") + strings.Count(body, ":") + strings.Count(body, "[")
		if got, most := values(reflect.ValueOf(in)), mostValues(separators); got > most {
			t.Fatalf("%d values of %d bytes, want at most %d", got, len(body), most)
		}
	})
}

// However many entries a request of 4 MiB has, they do not take much more memory than it.
func TestEntriesWithoutEndCostLittle(t *testing.T) {
	fill := func(begin, each, end string) string {
		return begin + strings.Repeat(each, (4<<20-len(begin)-len(end))/len(each)) + end
	}
	for _, tc := range []struct{ name, operation, body string }{
		{"entries", "SendMessageBatch", fill(`{"Entries":[`, `{},`, `{}]}`)},
		{"texts", "UntagQueue", fill(`{"TagKeys":[`, `"",`, `""]}`)},
		{"list values", "SendMessage", fill(`{"MessageAttributes":{"a":{"StringListValues":[`, `"",`, `""]}}}`)},
		{"parameters", "UntagQueue", fill(`Action=UntagQueue`, `&TagKey.1=`, ``)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			if tc.body[0] == '{' {
				r.Header.Set("Content-Type", jsonType)
				r.Header.Set(targetHeader, target+tc.operation)
			}
			body := []byte(tc.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := newProtocol(r, body).decode(operations[tc.operation].input())
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "more than 10000 values") {
				t.Errorf("decode = %v, want too many values", err)
			}
			const most = 1 << 20
			if used := after.TotalAlloc - before.TotalAlloc; used > most {
				t.Errorf("%d bytes allocated, want at most %d", used, most)
			}
		})
	}
}

func BenchmarkSendMessageJSON(b *testing.B) {
	body := []byte(`{"QueueUrl":"http://127.0.0.1:8080/000000000000/q","MessageBody":"` + strings.Repeat("x", 1024) + `"}`)
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Content-Type", jsonType)
	r.Header.Set(targetHeader, target+"SendMessage")
	answer := &sent{MessageID: "c428e60d-941f-6c8c-bba0-94d0c9168279", MD5OfMessageBody: "8b04d5e3775d298e78455efc5ca404d5"}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		p := newProtocol(r, body)
		in := operations[p.operation()].input()
		if err := p.decode(in); err != nil {
			b.Fatal(err)
		}
		out = p.answer(out[:0], answer, "id")
	}
}

func BenchmarkReceiveMessageJSON(b *testing.B) {
	m := message{
		MessageID: "c428e60d-941f-6c8c-bba0-94d0c9168279", ReceiptHandle: strings.Repeat("h", 48), MD5OfBody: "8b04d5e3775d298e78455efc5ca404d5",
		Body: strings.Repeat("x", 1024), Attributes: map[string]string{"SentTimestamp": "1796000000000", "ApproximateReceiveCount": "1"},
	}
	answer := &receiveMessageAnswer{Messages: []message{m, m, m, m, m, m, m, m, m, m}}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = appendAnswer(out[:0], answer)
	}
}
