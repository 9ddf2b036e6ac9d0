package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// operations are all that SQS has, each as an application uses it. They have a server of their own, whose clock they may move.
var operations = map[string]func(*testing.T, string, *sqs.Client){
	"CreateQueue":                  createQueue,
	"GetQueueUrl":                  getQueueURL,
	"ListQueues":                   listQueues,
	"DeleteQueue":                  deleteQueue,
	"PurgeQueue":                   purgeQueue,
	"GetQueueAttributes":           getQueueAttributes,
	"SetQueueAttributes":           setQueueAttributes,
	"AddPermission":                permissions,
	"RemovePermission":             permissions,
	"ListQueueTags":                tags,
	"TagQueue":                     tags,
	"UntagQueue":                   tags,
	"ListDeadLetterSourceQueues":   listDeadLetterSourceQueues,
	"StartMessageMoveTask":         moveTasks,
	"CancelMessageMoveTask":        cancelMessageMoveTask,
	"ListMessageMoveTasks":         moveTasks,
	"SendMessage":                  sendMessage,
	"SendMessageBatch":             batches,
	"ReceiveMessage":               receiveMessage,
	"DeleteMessage":                deleteMessage,
	"DeleteMessageBatch":           batches,
	"ChangeMessageVisibility":      changeMessageVisibility,
	"ChangeMessageVisibilityBatch": batches,
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for name, use := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := start(t, "--dev")
			use(t, base, client(base))
		})
	}
}

// TestEveryOperationIsUsed holds the list against the methods of the SDK's client.
func TestEveryOperationIsUsed(t *testing.T) {
	t.Parallel()
	var methods []string
	for m := range reflect.TypeFor[*sqs.Client]().Methods() {
		if m.Type.NumIn() == 4 && m.Type.In(1) == reflect.TypeFor[context.Context]() {
			methods = append(methods, m.Name)
		}
	}
	slices.Sort(methods)
	if want := slices.Sorted(maps.Keys(operations)); !slices.Equal(methods, want) {
		t.Errorf("the SDK has %v, used are %v", methods, want)
	}
}

// refused stops the test unless err has the code that an application looks for.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
}

// must is for calls that cannot fail.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func createQueue(t *testing.T, base string, c *sqs.Client) {
	url := create(t, c, "orders", map[string]string{"VisibilityTimeout": "45"})
	if want := base + "/000000000000/orders"; *url != want {
		t.Errorf("URL %s, want %s", *url, want)
	}
	if again := create(t, c, "orders", nil); *again != *url {
		t.Errorf("the same queue again has URL %s, want %s", *again, *url)
	}
	_, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("orders"), Attributes: map[string]string{"VisibilityTimeout": "46"}})
	if _, ok := errors.AsType[*types.QueueNameExists](err); !ok {
		t.Errorf("created with another timeout: %v, want QueueNameExists", err)
	}
	_, err = c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("no/slash")})
	refused(t, err, "InvalidParameterValue")
	create(t, c, "orders.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
}

func getQueueURL(t *testing.T, _ string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	got := must[*sqs.GetQueueUrlOutput](t)(c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")}))
	if *got.QueueUrl != *url {
		t.Errorf("URL %s, want %s", *got.QueueUrl, *url)
	}
	_, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
	var none *types.QueueDoesNotExist
	if !errors.As(err, &none) || none.ErrorCode() != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("got %v, want QueueDoesNotExist", err)
	}
}

func listQueues(t *testing.T, _ string, c *sqs.Client) {
	for _, name := range []string{"a-1", "a-2", "a-3", "b-1"} {
		create(t, c, name, nil)
	}
	var found []string
	pages := sqs.NewListQueuesPaginator(c, &sqs.ListQueuesInput{QueueNamePrefix: aws.String("a-"), MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page := must[*sqs.ListQueuesOutput](t)(pages.NextPage(t.Context()))
		for _, url := range page.QueueUrls {
			found = append(found, url[strings.LastIndex(url, "/")+1:])
		}
	}
	if want := []string{"a-1", "a-2", "a-3"}; !slices.Equal(found, want) {
		t.Errorf("listed %v, want %v", found, want)
	}
}

func deleteQueue(t *testing.T, base string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	must[*sqs.DeleteQueueOutput](t)(c.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: url}))
	_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})
	refused(t, err, "AWS.SimpleQueueService.NonExistentQueue")
	_, err = c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	refused(t, err, "AWS.SimpleQueueService.QueueDeletedRecently")
	advance(t, base, 61*time.Second)
	create(t, c, "q", nil)
}

func purgeQueue(t *testing.T, base string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	send(t, c, url, "a", "b")
	must[*sqs.PurgeQueueOutput](t)(c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url}))
	if got := receive(t, c, url, 10); len(got) > 0 {
		t.Errorf("a purged queue gave %d messages", len(got))
	}
	_, err := c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url})
	refused(t, err, "AWS.SimpleQueueService.PurgeQueueInProgress")
	advance(t, base, 61*time.Second)
	must[*sqs.PurgeQueueOutput](t)(c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url}))
}

func attributesOf(t *testing.T, c *sqs.Client, url *string, names ...types.QueueAttributeName) map[string]string {
	t.Helper()
	if len(names) == 0 {
		names = []types.QueueAttributeName{types.QueueAttributeNameAll}
	}
	return must[*sqs.GetQueueAttributesOutput](t)(c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: names})).Attributes
}

func getQueueAttributes(t *testing.T, _ string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	send(t, c, url, "a", "b")
	receive(t, c, url, 1)
	got := attributesOf(t, c, url)
	for name, want := range map[string]string{
		"VisibilityTimeout": "30", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600", "SqsManagedSseEnabled": "true",
		"QueueArn":                    "arn:aws:sqs:us-east-1:000000000000:q",
		"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesNotVisible": "1", "ApproximateNumberOfMessagesDelayed": "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	_, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"Foobar"}})
	refused(t, err, "InvalidAttributeName")
}

func setQueueAttributes(t *testing.T, _ string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	set := func(attributes map[string]string) error {
		_, err := c.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: attributes})
		return err
	}
	if err := set(map[string]string{"DelaySeconds": "7", "VisibilityTimeout": "0"}); err != nil {
		t.Fatal(err)
	}
	if got := attributesOf(t, c, url, "DelaySeconds", "VisibilityTimeout"); got["DelaySeconds"] != "7" || got["VisibilityTimeout"] != "0" || len(got) != 2 {
		t.Errorf("attributes are %v", got)
	}
	refused(t, set(map[string]string{"DelaySeconds": "901"}), "InvalidAttributeValue")
}

func permissions(t *testing.T, _ string, c *sqs.Client) {
	url := create(t, c, "q", nil)
	must[*sqs.AddPermissionOutput](t)(c.AddPermission(t.Context(), &sqs.AddPermissionInput{
		QueueUrl: url, Label: aws.String("readers"), AWSAccountIds: []string{"111111111111"}, Actions: []string{"ReceiveMessage"},
	}))
	var policy struct {
		Statement []struct{ Sid, Effect string }
	}
	if err := json.Unmarshal([]byte(attributesOf(t, c, url, "Policy")["Policy"]), &policy); err != nil || len(policy.Statement) != 1 || policy.Statement[0].Sid != "readers" {
		t.Errorf("policy %+v, %v; want one statement named readers", policy, err)
	}
	must[*sqs.RemovePermissionOutput](t)(c.RemovePermission(t.Context(), &sqs.RemovePermissionInput{QueueUrl: url, Label: aws.String("readers")}))
	if got := attributesOf(t, c, url); got["Policy"] != "" {
		t.Errorf("the policy is still %s", got["Policy"])
	}
	_, err := c.RemovePermission(t.Context(), &sqs.RemovePermissionInput{QueueUrl: url, Label: aws.String("readers")})
	refused(t, err, "InvalidParameterValue")
}

func tags(t *testing.T, _ string, c *sqs.Client) {
	created := must[*sqs.CreateQueueOutput](t)(c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q"), Tags: map[string]string{"team": "a"}}))
	url := created.QueueUrl
	must[*sqs.TagQueueOutput](t)(c.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"team": "b", "empty": ""}}))
	must[*sqs.UntagQueueOutput](t)(c.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"absent", "empty"}}))
	got := must[*sqs.ListQueueTagsOutput](t)(c.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: url}))
	if want := map[string]string{"team": "b"}; !maps.Equal(got.Tags, want) {
		t.Errorf("tags are %v, want %v", got.Tags, want)
	}
}

// withDeadLetters makes a queue whose messages are dead after one delivery, and its dead-letter queue.
func withDeadLetters(t *testing.T, c *sqs.Client) (source, dead *string) {
	t.Helper()
	dead = create(t, c, "dead", nil)
	source = create(t, c, "source", map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}`, "VisibilityTimeout": "0",
	})
	return source, dead
}

func listDeadLetterSourceQueues(t *testing.T, _ string, c *sqs.Client) {
	source, dead := withDeadLetters(t, c)
	got := must[*sqs.ListDeadLetterSourceQueuesOutput](t)(c.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead}))
	if !slices.Equal(got.QueueUrls, []string{*source}) {
		t.Errorf("sources are %v, want %s", got.QueueUrls, *source)
	}
}

// bury sends messages and has them end in the dead-letter queue.
func bury(t *testing.T, c *sqs.Client, source *string, bodies ...string) {
	t.Helper()
	send(t, c, source, bodies...)
	for range 2 {
		receive(t, c, source, 10)
	}
}

func moveTasks(t *testing.T, _ string, c *sqs.Client) {
	source, dead := withDeadLetters(t, c)
	bury(t, c, source, "a", "b")
	arn := aws.String(attributesOf(t, c, dead, "QueueArn")["QueueArn"])
	started := must[*sqs.StartMessageMoveTaskOutput](t)(c.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: arn}))
	if *started.TaskHandle == "" {
		t.Error("no task handle")
	}
	for end := time.Now().Add(patience); ; {
		got := must[*sqs.ListMessageMoveTasksOutput](t)(c.ListMessageMoveTasks(t.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: arn}))
		if len(got.Results) == 1 && *got.Results[0].Status == "COMPLETED" {
			if got.Results[0].ApproximateNumberOfMessagesMoved != 2 {
				t.Errorf("moved %d, want 2", got.Results[0].ApproximateNumberOfMessagesMoved)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the task does not end: %+v", got.Results)
		}
		waitFor(t, c, source)
	}
	if got := bodies(receive(t, c, source, 10)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("came back: %v, want a and b", got)
	}
}

// waitFor lets the server be busy for a moment: a receive that waits is as good as a sleep, and sees messages come.
func waitFor(t *testing.T, c *sqs.Client, url *string) {
	t.Helper()
	must[*sqs.GetQueueAttributesOutput](t)(c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url}))
}

func cancelMessageMoveTask(t *testing.T, _ string, c *sqs.Client) {
	source, dead := withDeadLetters(t, c)
	bury(t, c, source, "a", "b", "c", "d", "e")
	arn := aws.String(attributesOf(t, c, dead, "QueueArn")["QueueArn"])
	started := must[*sqs.StartMessageMoveTaskOutput](t)(c.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{
		SourceArn: arn, MaxNumberOfMessagesPerSecond: aws.Int32(1),
	}))
	_, err := c.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: arn})
	refused(t, err, "InvalidParameterValue")
	got := must[*sqs.CancelMessageMoveTaskOutput](t)(c.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: started.TaskHandle}))
	if got.ApproximateNumberOfMessagesMoved >= 5 {
		t.Errorf("moved %d of 5 although it was cancelled at once", got.ApproximateNumberOfMessagesMoved)
	}
	_, err = c.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: aws.String("garbage")})
	refused(t, err, "InvalidParameterValue")
}
