package sdk

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// send sends messages one by one. The SDK checks the MD5 of each answer by itself.
func send(t *testing.T, c *sqs.Client, url *string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		must[*sqs.SendMessageOutput](t)(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}))
	}
}

// receive takes what there is at once.
func receive(t *testing.T, c *sqs.Client, url *string, most int32) []types.Message {
	t.Helper()
	return must[*sqs.ReceiveMessageOutput](t)(c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: most,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})).Messages
}

func bodies(messages []types.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, *m.Body)
	}
	return all
}

func sendMessage(t *testing.T, _ string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	const body = "a <b> & \"c\" \r\n\t ünï 🥡"
	sent := must[*sqs.SendMessageOutput](t)(c.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: url, MessageBody: aws.String(body),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"Text":    {DataType: aws.String("String"), StringValue: aws.String("Bar")},
			"Count":   {DataType: aws.String("Number.int"), StringValue: aws.String("1493147359900")},
			"Picture": {DataType: aws.String("Binary.png"), BinaryValue: []byte{0, 1, 255}},
		},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
		},
	}))
	got := receive(t, c, url, 10)
	if len(got) != 1 || *got[0].Body != body || *got[0].MessageId != *sent.MessageId {
		t.Fatalf("received %+v, want the message that was sent", got)
	}
	a := got[0].MessageAttributes
	if len(a) != 3 || *a["Text"].StringValue != "Bar" || *a["Count"].DataType != "Number.int" || string(a["Picture"].BinaryValue) != "\x00\x01\xff" {
		t.Errorf("attributes %+v", a)
	}
	if *got[0].MD5OfMessageAttributes != *sent.MD5OfMessageAttributes {
		t.Errorf("MD5 of the attributes is %s, was %s", *got[0].MD5OfMessageAttributes, *sent.MD5OfMessageAttributes)
	}
	if header := got[0].Attributes["AWSTraceHeader"]; !strings.HasPrefix(header, "Root=") {
		t.Errorf("trace header %q", header)
	}
	_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String(strings.Repeat("x", 1<<20+1))})
	refused(t, err, "InvalidParameterValue")
	_, err = c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("")})
	refused(t, err, "MissingParameter")
	send(t, c, url, strings.Repeat("x", 1<<20))
}

func receiveMessage(t *testing.T, base string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	send(t, c, url, "a")
	first := receive(t, c, url, 1)
	if len(first) != 1 || first[0].Attributes["ApproximateReceiveCount"] != "1" {
		t.Fatalf("received %+v, want a for the first time", first)
	}
	waited := make(chan []types.Message, 1)
	go func() {
		out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
		if err != nil {
			t.Error(err)
			close(waited)
			return
		}
		waited <- out.Messages
	}()
	send(t, c, url, "b")
	if got := <-waited; len(got) != 1 || *got[0].Body != "b" {
		t.Errorf("a receive that waits got %v, want b", bodies(got))
	}
	advance(t, base, 31*time.Second)
	again := receive(t, c, url, 10)
	if len(again) != 2 || *again[0].Body != "a" || again[0].Attributes["ApproximateReceiveCount"] != "2" || *again[0].ReceiptHandle == *first[0].ReceiptHandle {
		t.Errorf("received %+v, want a again and first, with another handle", again)
	}
	_, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 11})
	refused(t, err, "InvalidParameterValue")
}

func deleteMessage(t *testing.T, base string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	send(t, c, url, "a")
	handle := receive(t, c, url, 1)[0].ReceiptHandle
	advance(t, base, 31*time.Second)
	receive(t, c, url, 1)
	for range 2 { // also with a handle that is not the last one, and again
		must[*sqs.DeleteMessageOutput](t)(c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: handle}))
	}
	advance(t, base, 31*time.Second)
	if got := receive(t, c, url, 1); len(got) > 0 {
		t.Errorf("a deleted message came back")
	}
	_, err := c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: aws.String("garbage")})
	refused(t, err, "ReceiptHandleIsInvalid")
}

func changeMessageVisibility(t *testing.T, base string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	send(t, c, url, "a")
	handle := receive(t, c, url, 1)[0].ReceiptHandle
	change := func(seconds int32) error {
		_, err := c.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: handle, VisibilityTimeout: seconds})
		return err
	}
	if err := change(600); err != nil {
		t.Fatal(err)
	}
	advance(t, base, time.Minute)
	if got := receive(t, c, url, 1); len(got) > 0 {
		t.Error("a message came back before its visibility timeout ended")
	}
	if err := change(0); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, c, url, 1); len(got) != 1 {
		t.Error("a message whose visibility timeout was ended did not come back")
	}
	refused(t, change(43201), "InvalidParameterValue")
}

func batches(t *testing.T, _ string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	var entries []types.SendMessageBatchRequestEntry
	for i := range 10 {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String("m" + strconv.Itoa(i))})
	}
	sent := must[*sqs.SendMessageBatchOutput](t)(c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries}))
	if len(sent.Successful) != 10 || len(sent.Failed) != 0 {
		t.Fatalf("sent %+v", sent)
	}
	got := receive(t, c, url, 10)
	if len(got) != 10 {
		t.Fatalf("received %d, want 10", len(got))
	}
	change := []types.ChangeMessageVisibilityBatchRequestEntry{
		{Id: aws.String("good"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 0},
		{Id: aws.String("bad"), ReceiptHandle: aws.String("garbage"), VisibilityTimeout: 0},
	}
	changed := must[*sqs.ChangeMessageVisibilityBatchOutput](t)(c.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: url, Entries: change}))
	if len(changed.Successful) != 1 || len(changed.Failed) != 1 || *changed.Failed[0].Code != "ReceiptHandleIsInvalid" || !changed.Failed[0].SenderFault {
		t.Errorf("changed %+v", changed)
	}
	var done []types.DeleteMessageBatchRequestEntry
	for i, m := range got {
		done = append(done, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	deleted := must[*sqs.DeleteMessageBatchOutput](t)(c.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: done}))
	if len(deleted.Successful) != 10 {
		t.Errorf("deleted %+v", deleted)
	}
	_, err := c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: url, Entries: append(entries, types.SendMessageBatchRequestEntry{Id: aws.String("x"), MessageBody: aws.String("x")})})
	refused(t, err, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest")
}
