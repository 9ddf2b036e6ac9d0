package sdk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const keys = `{"keys":[
  {"access_key_id":"AKIDALL","secret_access_key":"wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY","tenant":"acme","scope":"queues:*:*"},
  {"access_key_id":"AKIDREAD","secret_access_key":"anothersecretthatislongenough0123456789","tenant":"acme","scope":"queues:receive:q queues:read:q"},
  {"access_key_id":"AKIDOTHER","secret_access_key":"yetanothersecretthatislongenough0123456","tenant":"other","scope":"queues:*:*"}
]}`

// TestSignaturesAreVerified: with access keys configured the SDK's signature decides who calls, and what they may do.
func TestSignaturesAreVerified(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	base := start(t, "--access-keys", file)
	const secret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
	all := client(base, as("AKIDALL", secret, ""))
	url := create(t, all, "q", nil)
	send(t, all, url, "a", "ü & =/?+ ~")
	if got := receive(t, client(base, as("AKIDALL", secret, "a-session-token")), url, 10); len(got) != 2 {
		t.Errorf("received %v with a session token, want both", bodies(got))
	}

	_, err := client(base, as("AKIDALL", "wrong", "")).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	refused(t, err, "SignatureDoesNotMatch")
	_, err = client(base, as("AKIDNOBODY", secret, "")).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	refused(t, err, "InvalidClientTokenId")

	reader := client(base, as("AKIDREAD", "anothersecretthatislongenough0123456789", ""))
	receive(t, reader, url, 1)
	_, err = reader.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})
	refused(t, err, "AccessDenied")

	other := client(base, as("AKIDOTHER", "yetanothersecretthatislongenough0123456", ""))
	_, err = other.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})
	refused(t, err, "AWS.SimpleQueueService.NonExistentQueue")
}

// TestRegionsAreApart: queues of the same name in two regions are two queues.
func TestRegionsAreApart(t *testing.T) {
	t.Parallel()
	base := start(t)
	here, there := client(base), client(base, in("eu-west-1"))
	url := create(t, here, "q", nil)
	if got, err := there.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(got.QueueUrls) != 0 {
		t.Errorf("the other region has %v, %v; want nothing", got, err)
	}
	create(t, there, "q", map[string]string{"DelaySeconds": "5"})
	send(t, here, url, "a")
	if got := attributesOf(t, there, url, "QueueArn", "ApproximateNumberOfMessages"); got["QueueArn"] != "arn:aws:sqs:eu-west-1:000000000000:q" || got["ApproximateNumberOfMessages"] != "0" {
		t.Errorf("the other region's queue is %v", got)
	}
	if got := receive(t, here, url, 1); len(got) != 1 {
		t.Errorf("received %d in the region it was sent to, want 1", len(got))
	}
}
