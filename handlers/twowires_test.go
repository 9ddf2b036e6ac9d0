package handlers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers"
	"github.com/dabba-mq/dabba/handlers/handlerstest"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// sqsMessage is a message as the wire of SQS gives it.
type sqsMessage struct {
	MessageID         string `json:"MessageId"`
	ReceiptHandle     string
	Body              string
	Attributes        map[string]string
	MessageAttributes map[string]sqsAttribute
}

type sqsAttribute struct {
	DataType, StringValue string
	BinaryValue           []byte
}

// wire asks the wire of SQS and stops the test unless it succeeds.
func wire(t *testing.T, srv *handlerstest.Server, operation string, in, out any) {
	t.Helper()
	res := askWire(t, srv, operation, in)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s", operation, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

// wireStatus asks the wire of SQS whether it would succeed, by trying.
func wireStatus(t *testing.T, srv *handlerstest.Server, operation string, in any) int {
	t.Helper()
	res := askWire(t, srv, operation, in)
	_ = res.Body.Close()
	return res.StatusCode
}

func askWire(t *testing.T, srv *handlerstest.Server, operation string, in any) *http.Response {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	res, err := http.DefaultClient.Do(r) //nolint:forbidigo // the server's own client knows the document of the native API
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// fromSQS receives by SQS whatever there is, with all that is known of it.
func fromSQS(t *testing.T, srv *handlerstest.Server, queue string) []sqsMessage {
	t.Helper()
	var got struct{ Messages []sqsMessage }
	wire(t, srv, "ReceiveMessage", map[string]any{
		"QueueUrl": srv.URL + "/000000000000/" + queue, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 10,
		"MessageAttributeNames": []string{"All"}, "MessageSystemAttributeNames": []string{"All"},
	}, &got)
	return got.Messages
}

// TestBothWiresTakeTheSameNames makes queues of names on either wire: one takes what the other takes.
func TestBothWiresTakeTheSameNames(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t, func(c *handlers.Config) { c.SQS.Relaxed = true })
	for _, name := range []string{
		"a", "A-b_9", "-", "_", "-a", "a-", strings.Repeat("n", 80), strings.Repeat("n", 81), "a.b", "a.", ".a", "a b", "a:b", "a/b", "é", "a\n", "*", "", "v1",
		"a.fifo", ".fifo", "a.b.fifo", "a.fifo.fifo", "a.FIFO", "afifo", strings.Repeat("n", 75) + ".fifo", strings.Repeat("n", 76) + ".fifo",
	} {
		for _, fifo := range []bool{false, true} {
			in := map[string]any{"QueueName": name}
			if fifo {
				in["Attributes"] = map[string]string{"FifoQueue": "true"}
			}
			bySQS := wireStatus(t, srv, "CreateQueue", in) == http.StatusOK
			if bySQS {
				srv.Delete("/v1/queues/" + url.PathEscape(name)).Want(http.StatusNoContent)
			}
			natively := srv.Put("/v1/queues/"+url.PathEscape(name), fmt.Sprintf(`{"fifo":%v}`, fifo)).Status == http.StatusCreated
			if natively {
				srv.Delete("/v1/queues/" + url.PathEscape(name)).Want(http.StatusNoContent)
			}
			if natively != bySQS {
				t.Errorf("a queue named %q with fifo %v: created natively %v, by SQS %v", name, fifo, natively, bySQS)
			}
		}
	}
}

func TestSentNativelyReceivedBySQS(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q.fifo", `{"fifo":true}`).Want(http.StatusCreated)
	var sent struct {
		Results []struct {
			ID       string `json:"id"`
			Sequence uint64 `json:"sequence"`
		} `json:"results"`
	}
	srv.Post("/v1/queues/q.fifo/messages", `{"messages":[
		{"body":"tä\r\nxt","group":"g","dedup_id":"d","attributes":{
			"plain":"a","number":{"type":"Number","value":"1.5"},"bytes":{"type":"Binary.gif","value_base64":"AP8="},
			"own":{"type":"json","value":"{}"},"odd":{"type":"","value_base64":"AP8="},"control":"\u0001"}},
		{"body_base64":"AP8=","group":"g"},
		{"body":"a\u0001","group":"g"}]}`).Want(http.StatusOK).Decode(&sent)

	got := fromSQS(t, srv, "q.fifo")
	if len(got) != 3 {
		t.Fatalf("received %+v, want the three messages", got)
	}
	first := got[0]
	if first.Body != "tä\r\nxt" || first.MessageID != sent.Results[0].ID {
		t.Errorf("received %q with id %s, want the body and the id %s that were sent", first.Body, first.MessageID, sent.Results[0].ID)
	}
	if diff := cmp.Diff(map[string]sqsAttribute{
		"plain":   {DataType: "String", StringValue: "a"},
		"number":  {DataType: "Number", StringValue: "1.5"},
		"bytes":   {DataType: "Binary.gif", BinaryValue: []byte{0, 255}},
		"own":     {DataType: "String.json", StringValue: "{}"},
		"odd":     {DataType: "Binary", BinaryValue: []byte{0, 255}},
		"control": {DataType: "Binary", BinaryValue: []byte{1}},
	}, first.MessageAttributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"MessageGroupId": "g", "MessageDeduplicationId": "d", "ApproximateReceiveCount": "1", "SequenceNumber": "00000000000000000001",
	} {
		if first.Attributes[name] != want {
			t.Errorf("%s = %q, want %q", name, first.Attributes[name], want)
		}
	}
	for i, body := range [][]byte{{0, 255}, {'a', 1}} {
		m := got[i+1]
		if m.Body != base64.StdEncoding.EncodeToString(body) || m.MessageAttributes["dabba-body-encoding"].StringValue != "base64" {
			t.Errorf("a body of the bytes %v came as %q with attributes %v", body, m.Body, m.MessageAttributes)
		}
		if id, ok := m.Attributes["MessageDeduplicationId"]; ok {
			t.Errorf("a message without a deduplication id has %q", id)
		}
	}

	// A receipt of the one wire is one of the other.
	receipts, err := json.Marshal(map[string]any{"receipts": []string{got[0].ReceiptHandle, got[1].ReceiptHandle, got[2].ReceiptHandle}})
	if err != nil {
		t.Fatal(err)
	}
	var acked rest.Results
	srv.Post("/v1/queues/q.fifo/ack", string(receipts)).Want(http.StatusOK).Decode(&acked)
	for i, result := range acked.Results {
		if !result.OK {
			t.Errorf("ack of message %d: %+v", i, result.Error)
		}
	}
}

func TestSentBySQSReceivedNatively(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	const trace = "Root=1-5759e988-bd862e3fe1be46a994272793"
	var created struct {
		QueueURL string `json:"QueueUrl"`
	}
	wire(t, srv, "CreateQueue", map[string]any{"QueueName": "q.fifo", "Attributes": map[string]string{"FifoQueue": "true"}}, &created)
	var sent struct {
		MessageID string `json:"MessageId"`
	}
	wire(t, srv, "SendMessage", map[string]any{
		"QueueUrl": created.QueueURL, "MessageBody": "tä\r\nxt", "MessageGroupId": "g", "MessageDeduplicationId": "d",
		"MessageAttributes": map[string]any{
			"plain":  map[string]any{"DataType": "String", "StringValue": "a"},
			"number": map[string]any{"DataType": "Number", "StringValue": "1.5"},
			"bytes":  map[string]any{"DataType": "Binary.gif", "BinaryValue": []byte{0, 255}},
			"own":    map[string]any{"DataType": "String.json", "StringValue": "{}"},
		},
		"MessageSystemAttributes": map[string]any{"AWSTraceHeader": map[string]any{"DataType": "String", "StringValue": trace}},
	}, &sent)

	var got struct {
		Messages []struct {
			ID         string         `json:"id"`
			Receipt    string         `json:"receipt"`
			Body       string         `json:"body"`
			Group      string         `json:"group"`
			DedupID    string         `json:"dedup_id"`
			Sequence   int            `json:"sequence"`
			Attributes map[string]any `json:"attributes"`
		} `json:"messages"`
	}
	srv.Post("/v1/queues/q.fifo/receive?wait=10s", "").Want(http.StatusOK).Decode(&got)
	if len(got.Messages) != 1 {
		t.Fatalf("received %+v, want the message", got)
	}
	m := got.Messages[0]
	if m.ID != sent.MessageID || m.Body != "tä\r\nxt" || m.Group != "g" || m.DedupID != "d" || m.Sequence != 1 {
		t.Errorf("received %+v, want what was sent", m)
	}
	if diff := cmp.Diff(map[string]any{
		"plain":           "a",
		"number":          map[string]any{"type": "Number", "value": "1.5"},
		"bytes":           map[string]any{"type": "Binary.gif", "value_base64": "AP8="},
		"own":             map[string]any{"type": "String.json", "value": "{}"},
		"AWS.TraceHeader": trace,
	}, m.Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	wire(t, srv, "DeleteMessage", map[string]any{"QueueUrl": created.QueueURL, "ReceiptHandle": m.Receipt}, &struct{}{})
	var left struct {
		Counts struct{ Ready, Leased int } `json:"counts"`
	}
	srv.Get("/v1/queues/q.fifo").Want(http.StatusOK).Decode(&left)
	if left.Counts.Ready+left.Counts.Leased != 0 {
		t.Errorf("after the delete there are %+v", left.Counts)
	}
}

// TestASQSClientThatHangsUpLeasesNothing hangs up in the middle of an answer that is more than the sockets' buffers hold.
func TestASQSClientThatHangsUpLeasesNothing(t *testing.T) {
	t.Parallel()
	srv := handlerstest.Start(t)
	srv.Put("/v1/queues/q", `{"max_message_bytes":16777216,"visibility":"1h"}`).Want(http.StatusCreated)
	srv.Post("/v1/queues/q/messages", strings.Repeat("x", 8<<20), "Content-Type", "text/plain").Want(http.StatusOK)

	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = `{"QueueUrl":"q"}`
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n"+
		"X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n%s", len(request), request); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, conn, 5000); err != nil {
		t.Fatalf("read the start of the answer: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	var got rest.ReceiveAnswer
	srv.Post("/v1/queues/q/receive?wait=30s", "").Want(http.StatusOK).Decode(&got)
	if len(got.Messages) != 1 || got.Messages[0].Receives != 1 {
		t.Fatalf("received %d messages after the hang-up, want the one, for the first time", len(got.Messages))
	}
}
