package sqs_test

import (
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs"
)

// A client that reads slowly keeps its answer in memory, and faults are in no budget.
func TestFaultsRepeatLittleOfARequest(t *testing.T) {
	t.Parallel()
	const most = 5 << 10
	long := strings.Repeat("x", 64<<10)
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		fifo := s.queue("q.fifo", attrs{"FifoQueue": "true"})
		for name, a := range map[string]*answer{
			"a name": s.do("GetQueueUrl", params{"QueueName": long}),
			"a URL":  s.do("ReceiveMessage", params{"QueueUrl": "http://sqs.test/000000000000/" + long}),
			"the name of an attribute asked for": s.do("GetQueueAttributes",
				params{"QueueUrl": url, "AttributeNames": []string{long}}),
			"the name of an attribute": s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{long: "1"}}),
			"an attribute":             s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{"VisibilityTimeout": long}}),
			"a redrive policy":         s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{"RedrivePolicy": long}}),
			"a receive count": s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{
				"RedrivePolicy": `{"deadLetterTargetArn":"x","maxReceiveCount":"` + long + `"}`,
			}}),
			"a source": s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{
				"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["` + long + `"]}`,
			}}),
			"a policy":             s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{"Policy": long}}),
			"a tag":                s.do("TagQueue", params{"QueueUrl": url, "Tags": attrs{long: "1"}}),
			"a handle to delete":   s.do("DeleteMessage", params{"QueueUrl": url, "ReceiptHandle": long}),
			"a handle to change":   s.do("ChangeMessageVisibility", params{"QueueUrl": url, "ReceiptHandle": long, "VisibilityTimeout": 1}),
			"a handle in a batch":  s.do("DeleteMessageBatch", params{"QueueUrl": url, "Entries": []params{{"Id": "1", "ReceiptHandle": long}}}),
			"a group":              s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageGroupId": long}),
			"a deduplication id":   s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageDeduplicationId": long}),
			"an attempt":           s.do("ReceiveMessage", params{"QueueUrl": fifo, "ReceiveRequestAttemptId": long}),
			"a label":              s.do("AddPermission", params{"QueueUrl": url, "Label": long, "AWSAccountIds": []string{"1"}, "Actions": []string{"*"}}),
			"an account":           s.do("AddPermission", params{"QueueUrl": url, "Label": "x", "AWSAccountIds": []string{long}, "Actions": []string{"*"}}),
			"an ARN":               s.do("StartMessageMoveTask", params{"SourceArn": long}),
			"a task":               s.do("CancelMessageMoveTask", params{"TaskHandle": long}),
			"a token":              s.do("ListQueues", params{"NextToken": long}),
			"the id of an entry":   s.do("SendMessageBatch", params{"QueueUrl": url, "Entries": []params{{"Id": long, "MessageBody": "x"}}}),
			"the name of a member": s.rawJSON("SendMessage", "/", `{"`+long+`":1,"`+long+`":2}`),
			"no JSON":              s.rawJSON("SendMessage", "/", `{"QueueUrl":`+long+`}`),
			"an operation":         s.rawJSON(long, "/", `{}`),
			"the name of a message attribute": s.do("SendMessage", params{
				"QueueUrl": url, "MessageBody": "x", "MessageAttributes": params{long: text("String", "x")},
			}),
			"the name of a system attribute": s.do("SendMessage", params{
				"QueueUrl": url, "MessageBody": "x", "MessageSystemAttributes": params{long: text("String", "x")},
			}),
		} {
			if len(a.body) > most {
				t.Errorf("the answer about %s has %d bytes, want at most %d", name, len(a.body), most)
			}
		}
	})
	s := start(t, func(c *sqs.Config) { c.AccessKeys = &auth.AccessKeys{} })
	if a := s.region(long).json("ListQueues", params{}); len(a.body) > most {
		t.Errorf("the answer about a region has %d bytes, want at most %d", len(a.body), most)
	}
}
