package sqs

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// scanned are the requests that are scanned.
func scanned() []any {
	return []any{&sendMessageRequest{}, &sendMessageBatchRequest{}}
}

// usual are the shapes that must not need the decoder.
var usual = []string{
	`{"QueueUrl":"http://localhost/000000000000/q","MessageBody":"a"}`,
	` { "MessageBody" : "tä\"\\\r\nxt\u0000" , "DelaySeconds" : 0 , "QueueUrl" : "q" } `,
	`{"QueueUrl":"q.fifo","MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":""}`,
	`{"Entries":[{"MessageBody":"x","Id":"a"}],"QueueUrl":"q"}`,
	`{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x","DelaySeconds":900},{"Id":"b","MessageBody":"y","MessageGroupId":"g"}]}`,
}

func TestUsualRequestsAreScanned(t *testing.T) {
	t.Parallel()
	for _, body := range usual {
		took := 0
		for _, request := range scanned() {
			if scan([]byte(body), request) {
				took++
			}
		}
		if took != 1 {
			t.Errorf("%s is scanned as %d of the requests, want one", body, took)
		}
	}
}

// FuzzScan checks that the scanner and the decoder agree: what the scanner takes, the decoder reads the same way.
func FuzzScan(f *testing.F) {
	for _, seed := range append([]string{
		`{}`, `{"QueueUrl":"q","QueueUrl":"q"}`, `{"MessageBody":"","MessageBody":"a"}`, `{"DelaySeconds":01}`, `{"DelaySeconds":1.5}`,
		`{"DelaySeconds":1e2}`, `{"DelaySeconds":-1}`, `{"DelaySeconds":12345678901}`, `{"MessageBody":"\ud800"}`, "{\"MessageBody\":\"\xff\"}",
		`{"MessageGroupId":"","MessageGroupId":""}`, `{"DelaySeconds":1,"DelaySeconds":1}`, `{"MessageBody":null}`, `{"Entries":[]}`,
		`{"Entries":[{}],"Entries":[{}]}`, `{"Entries":[{"Id":"a"},]}`, `{"Entries":[{"Id":"a"}]} x`, `{"messagebody":"a"}`, `{"MessageBody":"a"`,
	}, usual...) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wants := scanned()
		for i, got := range scanned() {
			if !scan(body, got) {
				if diff := cmp.Diff(scanned()[i], got, cmp.AllowUnexported(all()...)); diff != "" {
					t.Fatalf("scan(%q) is false and leaves (-empty +got):\n%s", body, diff)
				}
				continue
			}
			if err := json.Unmarshal(body, wants[i]); err != nil {
				t.Fatalf("scan(%q) takes what the decoder refuses: %v", body, err)
			}
			if diff := cmp.Diff(wants[i], got, cmp.AllowUnexported(all()...)); diff != "" {
				t.Fatalf("scan(%q) (-decoder +scan):\n%s", body, diff)
			}
		}
	})
}

// all are the types that have members which are not exported.
func all() []any { return []any{sendMessageRequest{}, sendMessageEntry{}, outgoing{}} }
