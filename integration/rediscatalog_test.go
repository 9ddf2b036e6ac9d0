package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// sqs calls an action of SQS and gives the status and the body, of which the type of an error is cut short.
func (s *server) sqs(t *testing.T, action string, input map[string]any) (int, string) {
	t.Helper()
	body, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	res, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// TestNodesDecideByTheStore has one process change queues, and asks the other one, which knew them as they were, at once.
func TestNodesDecideByTheStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a, b := startOn(t, redis, "--sqs-relaxed"), startOn(t, redis, "--sqs-relaxed")
	want := func(s *server, action string, input map[string]any, status int, has string) {
		t.Helper()
		if got, body := s.sqs(t, action, input); got != status || !strings.Contains(body, has) {
			t.Errorf("%s %v at the other node: got %d %s, want %d with %q", action, input, got, body, status, has)
		}
	}
	type object = map[string]any
	const missing = "QueueDoesNotExist"
	url := func(name string) string { return a.base + "/000000000000/" + name }
	arn := func(name string) string { return "arn:aws:sqs:us-east-1:000000000000:" + name }
	create := func(s *server, name string, attributes object) {
		t.Helper()
		want(s, "CreateQueue", object{"QueueName": name, "Attributes": attributes}, http.StatusOK, name)
	}
	remove := func(s *server, name string) {
		t.Helper()
		want(s, "DeleteQueue", object{"QueueUrl": url(name)}, http.StatusOK, "")
	}
	send := object{"QueueUrl": url("g"), "MessageBody": "x"}

	// Whoever creates what was deleted makes it.
	for range 3 {
		create(a, "g", object{"VisibilityTimeout": "10"})
		want(b, "SendMessage", send, http.StatusOK, "MessageId")
		remove(a, "g")
		create(b, "g", object{"VisibilityTimeout": "20"})
		want(b, "SendMessage", send, http.StatusOK, "MessageId")
		want(a, "SendMessage", send, http.StatusOK, "MessageId")
		// Attributes are compared with those that there are.
		want(a, "SetQueueAttributes", object{"QueueUrl": url("g"), "Attributes": object{"VisibilityTimeout": "30"}}, http.StatusOK, "")
		create(b, "g", object{"VisibilityTimeout": "30"})
		want(b, "CreateQueue", object{"QueueName": "g", "Attributes": object{"VisibilityTimeout": "20"}}, http.StatusBadRequest, "QueueNameExists")
		remove(b, "g")
		want(a, "SendMessage", send, http.StatusBadRequest, missing)
	}

	// Nothing is done with, or shown of, what is gone.
	for action, input := range map[string]object{
		"GetQueueUrl":                {"QueueName": "g"},
		"GetQueueAttributes":         {"QueueUrl": url("g"), "AttributeNames": []string{"All"}},
		"ListQueueTags":              {"QueueUrl": url("g")},
		"TagQueue":                   {"QueueUrl": url("g"), "Tags": object{"k": "v"}},
		"UntagQueue":                 {"QueueUrl": url("g"), "TagKeys": []string{"k"}},
		"SetQueueAttributes":         {"QueueUrl": url("g"), "Attributes": object{"VisibilityTimeout": "1"}},
		"ListDeadLetterSourceQueues": {"QueueUrl": url("g")},
		"AddPermission":              {"QueueUrl": url("g"), "Label": "l", "AWSAccountIds": []string{"000000000000"}, "Actions": []string{"*"}},
		"RemovePermission":           {"QueueUrl": url("g"), "Label": "l"},
		"PurgeQueue":                 {"QueueUrl": url("g")},
		"DeleteQueue":                {"QueueUrl": url("g")},
		"ReceiveMessage":             {"QueueUrl": url("g")},
		"DeleteMessage":              {"QueueUrl": url("g"), "ReceiptHandle": "x"},
		"DeleteMessageBatch":         {"QueueUrl": url("g"), "Entries": []object{{"Id": "a", "ReceiptHandle": "x"}}},
		"ChangeMessageVisibility":    {"QueueUrl": url("g"), "ReceiptHandle": "x", "VisibilityTimeout": 1},
		"ChangeMessageVisibilityBatch": {"QueueUrl": url("g"), "Entries": []object{
			{"Id": "a", "ReceiptHandle": "x", "VisibilityTimeout": 99999999},
		}},
		"SendMessageBatch": {"QueueUrl": url("g"), "Entries": []object{{"Id": "a", "MessageBody": ""}}},
	} {
		create(a, "g", nil)
		want(b, "GetQueueUrl", object{"QueueName": "g"}, http.StatusOK, "g")
		remove(a, "g")
		want(b, action, input, http.StatusBadRequest, missing)
	}
	create(a, "source", nil)
	create(a, "g", nil)
	want(b, "GetQueueUrl", object{"QueueName": "g"}, http.StatusOK, "g")
	remove(a, "g")
	policy := object{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn("g") + `","maxReceiveCount":"3"}`}
	want(b, "SetQueueAttributes", object{"QueueUrl": url("source"), "Attributes": policy}, http.StatusBadRequest, "Dead letter target does not exist")
	want(b, "StartMessageMoveTask", object{"SourceArn": arn("g")}, http.StatusNotFound, "ResourceNotFoundException")
	want(b, "ListMessageMoveTasks", object{"SourceArn": arn("g")}, http.StatusNotFound, "ResourceNotFoundException")

	nativelyGone(t, a.client(), b.client())
}

// nativelyGone is the same on the native API.
func nativelyGone(t *testing.T, a, b *client) {
	t.Helper()
	a.create("other", "")
	for _, call := range [][3]string{
		{http.MethodGet, "/v1/queues/g"},
		{http.MethodPatch, "/v1/queues/g", `{"delay":"1s"}`},
		{http.MethodDelete, "/v1/queues/g"},
		{http.MethodDelete, "/v1/queues/g?force=true"},
		{http.MethodPost, "/v1/queues/g/messages", `{"body":"x"}`},
		{http.MethodPost, "/v1/queues/g/receive"},
		{http.MethodPost, "/v1/receive", `{"queues":["other","g"]}`},
		{http.MethodPost, "/v1/queues/g/ack", `{"receipts":["x"]}`},
		{http.MethodPost, "/v1/queues/g/nack", `{"receipts":["x"]}`},
		{http.MethodPost, "/v1/queues/g/extend", `{"receipts":["x"],"visibility":"1s"}`},
		{http.MethodPost, "/v1/queues/g/pause"},
		{http.MethodPost, "/v1/queues/g/resume"},
		{http.MethodPost, "/v1/queues/g/purge"},
		{http.MethodGet, "/v1/queues/g/messages"},
		{http.MethodGet, "/v1/queues/g/schedules"},
		{http.MethodPut, "/v1/queues/g/schedules/s", `{"cron":"@every 1h","message":{"body":"x"}}`},
		{http.MethodPost, "/v1/queues/g/redrive", `{"to":"other"}`},
		{http.MethodPost, "/v1/queues/other/redrive", `{"to":"g"}`},
	} {
		a.create("g", "")
		b.get("/v1/queues/g").want(http.StatusOK)
		b.send("other", "x")
		a.do(http.MethodDelete, "/v1/queues/g", "").want(http.StatusNoContent)
		b.do(call[0], call[1], call[2]).refused(http.StatusNotFound, "not_found")
	}
	for _, call := range [][3]string{
		{http.MethodGet, "/v1/topics/g"},
		{http.MethodDelete, "/v1/topics/g"},
		{http.MethodPost, "/v1/topics/g/records", `{"records":[{"value":"x"}]}`},
		{http.MethodGet, "/v1/topics/g/partitions/0/records?offset=earliest"},
		{http.MethodPut, "/v1/topics/g/offsets/r", `{"offsets":{"0":0}}`},
		{http.MethodGet, "/v1/topics/g/offsets/r"},
	} {
		a.put("/v1/topics/g", "").want(http.StatusCreated)
		b.put("/v1/topics/g/offsets/r", `{"offsets":{"0":0}}`).want(http.StatusOK)
		a.do(http.MethodDelete, "/v1/topics/g", "").want(http.StatusNoContent)
		b.do(call[0], call[1], call[2]).refused(http.StatusNotFound, "not_found")
	}
}
