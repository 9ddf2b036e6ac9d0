package sqs_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs"
)

// holder is somebody with a token for the tenant "shop".
type holder struct {
	*server
	token string
}

// withTokens starts a server that wants tokens, with the queues of the tenant "shop", and returns what gives out tokens with
// scopes.
func withTokens(t *testing.T, queues map[string]engine.QueueConfig) func(scope string) holder {
	t.Helper()
	keys, err := auth.ParseKeys([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.New(t.Context(), auth.Config{Keys: keys, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *sqs.Config) { c.Verifier = verifier })
	for name, config := range queues {
		if _, _, err := s.engine.PutQueue(t.Context(), engine.Ref{Tenant: "shop", Name: name}, config, engine.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	return func(scope string) holder {
		token, err := auth.Issue(keys[0], auth.Grant{Subject: "tester", Tenant: "shop", Scope: scope, TTL: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return holder{s, token}
	}
}

func (h holder) asks(operation string, in params) *answer {
	h.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		h.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	r.Header.Set("Authorization", "Bearer "+h.token)
	return h.send(r)
}

// Each operation on the queue "q" needs the one action, and no other helps.
func TestOperationsNeedTheirScopes(t *testing.T) {
	t.Parallel()
	config := engine.DefaultConfig()
	config.DeadLetter.Queue = "grave"
	as := withTokens(t, map[string]engine.QueueConfig{"q": config, "grave": engine.DefaultConfig()})
	url := params{"QueueUrl": "q"}
	entry := func(more params) params { return with(url, params{"Entries": []params{with(params{"Id": "a"}, more)}}) }
	handle := params{"ReceiptHandle": "x"}
	for _, op := range []struct {
		name   string
		in     params
		action string
	}{
		{"CreateQueue", params{"QueueName": "q"}, "manage"},
		{"SetQueueAttributes", with(url, params{"Attributes": attrs{"DelaySeconds": "0"}}), "manage"},
		{"GetQueueAttributes", url, "read"},
		{"ListQueueTags", url, "read"},
		{"TagQueue", with(url, params{"Tags": attrs{"a": "b"}}), "manage"},
		{"UntagQueue", with(url, params{"TagKeys": []string{"a"}}), "manage"},
		{"AddPermission", with(url, params{"Label": "a", "AWSAccountIds": []string{"111122223333"}, "Actions": []string{"*"}}), "manage"},
		{"RemovePermission", with(url, params{"Label": "a"}), "manage"},
		{"ListDeadLetterSourceQueues", url, "read"},
		{"ListMessageMoveTasks", params{"SourceArn": arnOf("q")}, "read"},
		{"StartMessageMoveTask", params{"SourceArn": arnOf("q")}, "manage"},
		{"SendMessage", with(url, params{"MessageBody": "m"}), "send"},
		{"SendMessageBatch", entry(params{"MessageBody": "m"}), "send"},
		{"ReceiveMessage", url, "receive"},
		{"DeleteMessage", with(url, handle), "receive"},
		{"DeleteMessageBatch", entry(handle), "receive"},
		{"ChangeMessageVisibility", with(url, handle, params{"VisibilityTimeout": 0}), "receive"},
		{"ChangeMessageVisibilityBatch", entry(with(handle, params{"VisibilityTimeout": 0})), "receive"},
		{"PurgeQueue", url, "manage"},
		{"DeleteQueue", url, "manage"},
	} {
		var others []string
		for _, action := range []string{"send", "receive", "read", "manage"} {
			if action != op.action {
				others = append(others, "queues:"+action+":*")
			}
		}
		as(strings.Join(others, " ")+" queues:*:p").asks(op.name, op.in).refused(http.StatusForbidden, "AccessDenied", "")
		if got := as("queues:"+op.action+":q").asks(op.name, op.in); got.status == http.StatusForbidden {
			t.Errorf("%s with the scope queues:%s:q answered %d %s", op.name, op.action, got.status, got.body)
		}
	}
}

func TestURLIsForWhoeverMayUseTheQueue(t *testing.T) {
	t.Parallel()
	as := withTokens(t, map[string]engine.QueueConfig{"q": engine.DefaultConfig()})
	for _, action := range []string{"send", "receive", "read", "manage", "*"} {
		as("queues:"+action+":q").asks("GetQueueUrl", params{"QueueName": "q"}).ok()
	}
	as("queues:*:p").asks("GetQueueUrl", params{"QueueName": "q"}).refused(http.StatusForbidden, "AccessDenied", "")
}

// Lists leave out what may not be seen, and their pages are full all the same.
func TestListsShowWhatMayBeRead(t *testing.T) {
	t.Parallel()
	queues := map[string]engine.QueueConfig{"grave": engine.DefaultConfig()}
	config := engine.DefaultConfig()
	config.DeadLetter.Queue = "grave"
	for _, name := range []string{"a1", "b1", "b2", "c1", "c2", "a2"} {
		queues[name] = config
	}
	as := withTokens(t, queues)
	for _, list := range []struct {
		operation, urls string
		in              params
	}{
		{"ListQueues", "QueueUrls", nil},
		{"ListDeadLetterSourceQueues", "queueUrls", params{"QueueUrl": "grave"}},
	} {
		h := as("queues:read:b* queues:read:c2 queues:send:a* queues:read:grave")
		var names []string
		token := ""
		for page := 0; page == 0 || token != ""; page++ {
			in := with(list.in, params{"MaxResults": 2})
			if token != "" {
				in["NextToken"] = token
			}
			got := h.asks(list.operation, in).ok()
			for _, url := range got.texts(list.urls) {
				names = append(names, url[strings.LastIndex(url, "/")+1:])
			}
			if token = got.text("NextToken"); token != "" && len(names) != 2*(page+1) {
				t.Fatalf("%s: page %d ends with %v, want full pages before the last", list.operation, page, names)
			}
		}
		want := []string{"b1", "b2", "c2"}
		if list.operation == "ListQueues" {
			want = append(want, "grave")
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s shows %v, want %v", list.operation, names, want)
		}
	}
}

// Who moves messages must be allowed to send them to where they go.
func TestMovesNeedToSend(t *testing.T) {
	t.Parallel()
	config := engine.DefaultConfig()
	config.DeadLetter.Queue, config.DeadLetter.When = "grave", engine.Lazy
	config.Retry.MaxReceives = 1
	as := withTokens(t, map[string]engine.QueueConfig{"work": config, "other": engine.DefaultConfig(), "grave": engine.DefaultConfig()})
	owner := as("admin:*:*")
	owner.asks("SendMessage", params{"QueueUrl": "work", "MessageBody": "m"}).ok()
	for range 2 {
		owner.asks("ReceiveMessage", params{"QueueUrl": "work", "VisibilityTimeout": 0}).ok()
	}
	to := params{"SourceArn": arnOf("grave"), "DestinationArn": arnOf("other")}
	back := params{"SourceArn": arnOf("grave")}
	as("queues:manage:*").asks("StartMessageMoveTask", to).refused(http.StatusForbidden, "AccessDenied", "")
	as("queues:manage:*").asks("StartMessageMoveTask", back).refused(http.StatusForbidden, "AccessDenied", "")
	as("queues:manage:grave queues:send:other").asks("StartMessageMoveTask", back).refused(http.StatusForbidden, "AccessDenied", "")
	as("queues:manage:grave queues:send:work").asks("StartMessageMoveTask", back).ok()
}

// Who gives a queue a target for its dead letters must be allowed to send there, and is shown nothing about it otherwise. A
// target that the queue has already may stay.
func TestTargetsOfDeadLettersNeedToSend(t *testing.T) {
	t.Parallel()
	as := withTokens(t, map[string]engine.QueueConfig{"b": engine.DefaultConfig()})
	mine, sender := as("queues:*:a"), as("queues:*:a queues:send:b")
	policy := func(target string, receives int) attrs {
		return attrs{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, arnOf(target), receives)}
	}
	for _, target := range []string{"b", "absent"} {
		mine.asks("CreateQueue", params{"QueueName": "a", "Attributes": policy(target, 1)}).refused(http.StatusForbidden, "AccessDenied",
			"This needs the scope queues:send:"+target+", which your token or access key does not have.")
	}
	mine.asks("GetQueueUrl", params{"QueueName": "a"}).refused(http.StatusBadRequest, "AWS.SimpleQueueService.NonExistentQueue", "")
	mine.asks("CreateQueue", params{"QueueName": "a"}).ok()
	set := params{"QueueUrl": "a", "Attributes": policy("b", 1)}
	mine.asks("SetQueueAttributes", set).refused(http.StatusForbidden, "AccessDenied", "")
	sender.asks("SetQueueAttributes", set).ok()

	mine.asks("SetQueueAttributes", params{"QueueUrl": "a", "Attributes": attrs{"VisibilityTimeout": "7"}}).ok()
	mine.asks("SetQueueAttributes", params{"QueueUrl": "a", "Attributes": policy("b", 3)}).ok()
	mine.asks("CreateQueue", params{"QueueName": "a", "Attributes": policy("b", 3)}).ok()
	mine.asks("SetQueueAttributes", params{"QueueUrl": "a", "Attributes": policy("absent", 3)}).refused(http.StatusForbidden, "AccessDenied", "")
	mine.asks("SetQueueAttributes", params{"QueueUrl": "a", "Attributes": attrs{"RedrivePolicy": ""}}).ok()
	mine.asks("SetQueueAttributes", set).refused(http.StatusForbidden, "AccessDenied", "")
}

// A token is the last name of a page, in base64: that of a queue that may be read.
func TestTokensOfListsNameNoOtherQueues(t *testing.T) {
	t.Parallel()
	queues := map[string]engine.QueueConfig{}
	for _, name := range []string{"a", "m1", "m2", "m3", "m4", "z1", "z2"} {
		queues[name] = engine.DefaultConfig()
	}
	reader := withTokens(t, queues)("queues:read:a* queues:read:z*")
	first := reader.asks("ListQueues", params{"MaxResults": 1}).ok()
	token, err := base64.RawURLEncoding.DecodeString(first.text("NextToken"))
	if err != nil || string(token) != "after:a" {
		t.Errorf("the token after a is %q, %v, want one that names a", token, err)
	}
	second := reader.asks("ListQueues", params{"MaxResults": 1, "NextToken": first.text("NextToken")}).ok()
	if got := second.texts("QueueUrls"); len(got) != 1 || !strings.HasSuffix(got[0], "/z1") {
		t.Errorf("the second page has %v, want z1", got)
	}
}
