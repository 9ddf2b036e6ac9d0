package sqs_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/sqs"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
)

// What several operations answer.
const (
	onlyOneSSE    = "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."
	badQueueName  = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
	deletedLately = "You must wait 60 seconds after deleting a queue before you can create another with the same name."
)

// shown are the attributes of a queue that are asked for; all without names.
func (s *server) shown(url string, names ...string) attrs {
	s.t.Helper()
	if len(names) == 0 {
		names = []string{"All"}
	}
	all := attrs{}
	for name, value := range s.do("GetQueueAttributes", params{"QueueUrl": url, "AttributeNames": names}).ok().object("Attributes") {
		all[name], _ = value.(string)
	}
	return all
}

// shows stops the test unless a queue has these values among its attributes; an empty one must not be shown.
func (s *server) shows(url string, want attrs) {
	s.t.Helper()
	all := s.shown(url)
	got := attrs{}
	for name := range want {
		got[name] = all[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Fatalf("attributes of %s (-want +got):\n%s", url, diff)
	}
}

// create asks for a queue.
func (s *server) create(name string, attributes attrs) *answer {
	s.t.Helper()
	return s.do("CreateQueue", params{"QueueName": name, "Attributes": attributes})
}

// set changes attributes of a queue.
func (s *server) set(url string, attributes attrs) *answer {
	s.t.Helper()
	return s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attributes})
}

func (s *server) delete(url string) {
	s.t.Helper()
	s.do("DeleteQueue", params{"QueueUrl": url}).ok()
}

// arnOf is the ARN of a queue in the server's own region.
func arnOf(name string) string { return "arn:aws:sqs:us-east-1:000000000000:" + name }

// redriveTo is a redrive policy: to the queue after so many receives.
func redriveTo(name string, receives int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, arnOf(name), receives)
}

func TestFact027DefaultAttributes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		before := s.now().Unix()
		url := s.queue("orders", nil)
		got := s.shown(url)
		for _, name := range []string{"CreatedTimestamp", "LastModifiedTimestamp"} {
			n, err := strconv.ParseInt(got[name], 10, 64)
			if err != nil || n < before || n > s.now().Unix() {
				t.Errorf("%s is %q, want a time from %d on in seconds", name, got[name], before)
			}
			delete(got, name)
		}
		want := attrs{
			"ApproximateNumberOfMessages":           "0",
			"ApproximateNumberOfMessagesDelayed":    "0",
			"ApproximateNumberOfMessagesNotVisible": "0",
			"DelaySeconds":                          "0",
			"MaximumMessageSize":                    "1048576",
			"MessageRetentionPeriod":                "345600",
			"QueueArn":                              arnOf("orders"),
			"ReceiveMessageWaitTimeSeconds":         "0",
			"SqsManagedSseEnabled":                  "true",
			"VisibilityTimeout":                     "30",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("attributes of a new queue (-want +got):\n%s", diff)
		}
	})
}

func TestFact027LastModifiedChanges(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("orders", nil)
	created := s.shown(url)
	s.advance(90 * time.Second)
	s.set(url, attrs{"DelaySeconds": "1"}).ok()
	changed := s.shown(url)
	if changed["CreatedTimestamp"] != created["CreatedTimestamp"] {
		t.Errorf("a change moved CreatedTimestamp from %s to %s", created["CreatedTimestamp"], changed["CreatedTimestamp"])
	}
	was, _ := strconv.Atoi(created["LastModifiedTimestamp"])
	is, _ := strconv.Atoi(changed["LastModifiedTimestamp"])
	if is-was < 90 {
		t.Errorf("a change after 90 s moved LastModifiedTimestamp from %d to %d", was, is)
	}
}

func TestFact028DefaultAttributesOfFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.shows(s.queue("orders.fifo", attrs{"FifoQueue": "true"}), attrs{
			"FifoQueue":                 "true",
			"ContentBasedDeduplication": "false",
			"DeduplicationScope":        "queue",
			"FifoThroughputLimit":       "perQueue",
			"QueueArn":                  arnOf("orders.fifo"),
		})
		s.shows(s.queue("wages.fifo", attrs{
			"FifoQueue":                 "true",
			"ContentBasedDeduplication": "true",
			"DeduplicationScope":        "messageGroup",
			"FifoThroughputLimit":       "perMessageGroupId",
		}), attrs{
			"ContentBasedDeduplication": "true",
			"DeduplicationScope":        "messageGroup",
			"FifoThroughputLimit":       "perMessageGroupId",
		})
	})
}

func TestFact028LimitPerGroupNeedsItsScope(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		const code, message = "InvalidAttributeValue",
			"Invalid value for the parameter FifoThroughputLimit. Reason: perMessageGroupId is allowed only when DeduplicationScope is messageGroup."
		perGroup := attrs{"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId"}
		s.create("orders.fifo", perGroup).refused(400, code, message)
		url := s.queue("orders.fifo", attrs{"FifoQueue": "true"})
		s.set(url, perGroup).refused(400, code, message)
		s.set(url, attrs{"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}).ok()
		s.set(url, attrs{"DeduplicationScope": "queue"}).refused(400, code, message)
		s.set(url, attrs{"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}).ok()
		s.shows(url, attrs{"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"})
	})
}

func TestFact029AttributesThatAreNotShownUnlessSet(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		hidden := attrs{"Policy": "", "RedrivePolicy": "", "RedriveAllowPolicy": "", "KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": ""}
		url := s.queue("orders", nil)
		s.shows(url, hidden)
		s.set(url, attrs{"KmsMasterKeyId": "alias/aws/sqs", "KmsDataKeyReusePeriodSeconds": "600"}).ok()
		s.shows(url, attrs{"KmsMasterKeyId": "alias/aws/sqs", "KmsDataKeyReusePeriodSeconds": "600", "SqsManagedSseEnabled": "false"})
		s.set(url, attrs{"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "300"}).ok()
		s.shows(url, hidden)
		s.shows(url, attrs{"SqsManagedSseEnabled": "false"})
		s.set(url, attrs{"SqsManagedSseEnabled": "true"}).ok()
		s.shows(url, attrs{"SqsManagedSseEnabled": "true"})
	})
}

func TestFact030OneEncryptionAtATime(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		twice := attrs{"KmsMasterKeyId": "key", "SqsManagedSseEnabled": "true"}
		s.create("orders", twice).refused(400, "InvalidAttributeName", onlyOneSSE)
		s.do("GetQueueUrl", params{"QueueName": "orders"}).refused(400, noQueue, "")
		url := s.queue("orders", nil)
		s.set(url, twice).refused(400, "InvalidAttributeName", onlyOneSSE)
		s.shows(url, attrs{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"})
		s.set(url, attrs{"KmsMasterKeyId": "key"}).ok()
		s.set(url, attrs{"SqsManagedSseEnabled": "true"}).refused(400, "InvalidAttributeName", onlyOneSSE)
		s.set(url, attrs{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}).ok()
	})
}

func TestFact031UnknownAttribute(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		ask := func(names ...string) *answer {
			return s.do("GetQueueAttributes", params{"QueueUrl": url, "AttributeNames": names})
		}
		ask("Foobar").refused(400, "InvalidAttributeName", "Unknown Attribute Foobar.")
		ask("All", "Foobar").refused(400, "InvalidAttributeName", "Unknown Attribute Foobar.")
		ask("").refused(400, "InvalidAttributeName", "Unknown Attribute .")
		s.set(url, attrs{"Foobar": "1"}).refused(400, "InvalidAttributeName", "Unknown Attribute Foobar.")
		s.create("wages", attrs{"Foobar": "1"}).refused(400, "InvalidAttributeName", "Unknown Attribute Foobar.")
		s.set(url, attrs{"QueueArn": arnOf("wages")}).refused(400, "InvalidAttributeName", "Unknown Attribute QueueArn.")
		s.create("wages", attrs{"ApproximateNumberOfMessages": "1"}).refused(400, "InvalidAttributeName", "Unknown Attribute ApproximateNumberOfMessages.")
	})
}

func TestFact031NamedAttributes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		got := s.shown(s.queue("orders", nil), "VisibilityTimeout", "QueueArn", "FifoQueue", "Policy")
		if diff := cmp.Diff(attrs{"VisibilityTimeout": "30", "QueueArn": arnOf("orders")}, got); diff != "" {
			t.Fatalf("attributes that were named (-want +got):\n%s", diff)
		}
	})
}

func TestFact032FIFOAttributesOfAStandardQueue(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		for _, name := range []string{"FifoQueue", "ContentBasedDeduplication"} {
			message := "Unknown Attribute " + name + "."
			s.create("wages", attrs{name: "false"}).refused(400, "InvalidAttributeName", message)
			s.set(url, attrs{name: "false"}).refused(400, "InvalidAttributeName", message)
			s.set(url, attrs{name: "true"}).refused(400, "InvalidAttributeName", message)
		}
	})
}

func TestFact033ScopeAndLimitOfAStandardQueue(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		for name, value := range (attrs{"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}) {
			message := "You can specify the " + name + " only when FifoQueue is set to true."
			s.create("wages", attrs{name: value}).refused(400, "InvalidAttributeName", message)
			s.set(url, attrs{name: value}).refused(400, "InvalidAttributeName", message)
		}
	})
}

func TestFact034TypeOfAQueueStays(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders.fifo", attrs{"FifoQueue": "true"})
		s.set(url, attrs{"FifoQueue": "true"}).ok()
		s.set(url, attrs{"FifoQueue": "false"}).refused(400, "InvalidAttributeValue",
			"Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		s.shows(url, attrs{"FifoQueue": "true"})
	})
}

func TestFact035NameOfAFIFOQueue(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.create("orders", attrs{"FifoQueue": "true"}).refused(400, "InvalidParameterValue", "")
		s.create("orders.fifo", nil).refused(400, "InvalidParameterValue", badQueueName)
		s.create("orders.fifo", attrs{"FifoQueue": "false"}).refused(400, "InvalidParameterValue", badQueueName)
		s.create("orders.fifo", attrs{"FifoQueue": "perhaps"}).refused(400, "InvalidAttributeValue", "Invalid value for the parameter FifoQueue.")
		s.create("orders.fifo", attrs{"FifoQueue": "True", "ContentBasedDeduplication": "True"}).ok()
		s.create("orders.fifo", attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"}).ok()
	})
}

func TestFact036BadNames(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		for _, name := range []string{"", strings.Repeat("a", 81), "a/b", "a b", "a.b", "süß", ".fifo", "a\n"} {
			s.create(name, nil).refused(400, "InvalidParameterValue", badQueueName)
		}
		s.create(strings.Repeat("a", 76)+".fifo", attrs{"FifoQueue": "true"}).refused(400, "InvalidParameterValue", badQueueName)
		s.create(strings.Repeat("a", 80), nil).ok()
		s.create(strings.Repeat("a", 75)+".fifo", attrs{"FifoQueue": "true"}).ok()
		s.create("Az09-_", nil).ok()
	})
}

func TestFact037CreateAgain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		all := attrs{"DelaySeconds": "5", "VisibilityTimeout": "40", "Policy": `{"Statement": []}`, "KmsMasterKeyId": "key"}
		url := s.queue("orders", all)
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "m", "DelaySeconds": 0}).ok()
		for _, again := range []attrs{
			nil, all,
			{"DelaySeconds": "5"},
			{"VisibilityTimeout": "40"},
			{"MaximumMessageSize": "1048576"},
			{"RedrivePolicy": ""},
			{"KmsMasterKeyId": "key"},
			{"SqsManagedSseEnabled": "False"},
			{"Policy": `{"Statement":[]}`},
		} {
			if got := s.create("orders", again).ok().text("QueueUrl"); got != url {
				t.Errorf("create again with %v gave %s, want %s", again, got, url)
			}
		}
		s.shows(url, attrs{"DelaySeconds": "5", "VisibilityTimeout": "40", "ApproximateNumberOfMessages": "1"})
		fifo := s.queue("orders.fifo", attrs{"FifoQueue": "true"})
		if got := s.create("orders.fifo", nil).ok().text("QueueUrl"); got != fifo {
			t.Errorf("create again with nothing gave %s, want %s", got, fifo)
		}
	})
}

func TestFact037CreateAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	var all sync.WaitGroup
	answers := make([]*answer, 32)
	for i := range answers {
		all.Go(func() { answers[i] = s.create("orders", attrs{"DelaySeconds": "5"}) })
	}
	all.Wait()
	for _, a := range answers {
		a.ok()
	}
}

// interrupted is a store that does something once, before it looks up a key with a prefix or lists those.
type interrupted struct {
	*memory.Store

	mu     sync.Mutex
	prefix string
	do     func()
}

// once sets what is done.
func (s *interrupted) once(prefix string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefix, s.do = prefix, do
}

// waits says that it is not done yet.
func (s *interrupted) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do != nil
}

func (s *interrupted) before(key string) {
	s.mu.Lock()
	do := s.do
	if !strings.HasPrefix(key, s.prefix) {
		do = nil
	}
	if do != nil {
		s.do = nil
	}
	s.mu.Unlock()
	if do != nil {
		do()
	}
}

func (s *interrupted) Get(ctx context.Context, key string) (store.Pair, error) {
	s.before(key)
	return s.Store.Get(ctx, key)
}

func (s *interrupted) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	s.before(prefix)
	return s.Store.List(ctx, prefix, after, limit)
}

// startInterrupted is start with such a store.
func startInterrupted(t *testing.T) (*server, *engine.Engine, *interrupted) {
	t.Helper()
	st := &interrupted{Store: memory.New(memory.Options{Now: time.Now})}
	e, err := engine.Open(t.Context(), st, engine.Options{Now: time.Now, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return start(t, func(c *sqs.Config) { c.Engine = e }), e, st
}

// Somebody else creates the queue after it was looked for.
func TestFact037TheOtherIsFaster(t *testing.T) {
	t.Parallel()
	s, e, st := startInterrupted(t)
	ref, config := engine.Ref{Tenant: "default", Name: "orders"}, engine.DefaultConfig()
	faster := func() {
		config.Delay += time.Second
		if _, _, err := e.PutQueue(t.Context(), ref, config, engine.Condition{}); err != nil {
			t.Error(err)
		}
	}
	st.once("cool/delete/", faster)
	s.create("orders", attrs{"DelaySeconds": "1"}).ok()
	if st.waits() {
		t.Fatal("nobody was faster")
	}
	if err := e.DeleteQueue(t.Context(), ref, engine.Condition{}, true); err != nil {
		t.Fatal(err)
	}
	st.once("cool/delete/", faster)
	s.create("orders", attrs{"DelaySeconds": "1"}).refused(400, "QueueAlreadyExists",
		"A queue already exists with the same name and a different value for attribute DelaySeconds")
}

func TestFact038CreateAgainWithOtherAttributes(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		differs := func(name string, attributes attrs, first string) {
			s.create(name, attributes).refused(400, "QueueAlreadyExists",
				"A queue already exists with the same name and a different value for attribute "+first)
		}
		url := s.queue("orders", attrs{"DelaySeconds": "5"})
		differs("orders", attrs{"DelaySeconds": "6"}, "DelaySeconds")
		differs("orders", attrs{"DelaySeconds": "5", "VisibilityTimeout": "31"}, "VisibilityTimeout")
		differs("orders", attrs{"VisibilityTimeout": "31", "MaximumMessageSize": "1024"}, "MaximumMessageSize")
		differs("orders", attrs{"KmsMasterKeyId": "key"}, "KmsMasterKeyId")
		differs("orders", attrs{"SqsManagedSseEnabled": "false"}, "SqsManagedSseEnabled")
		s.set(url, attrs{"DelaySeconds": "6"}).ok()
		s.create("orders", attrs{"DelaySeconds": "6"}).ok()
		differs("orders", attrs{"DelaySeconds": "5"}, "DelaySeconds")
		s.queue("wages.fifo", attrs{"FifoQueue": "true"})
		differs("wages.fifo", attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"}, "ContentBasedDeduplication")
		differs("wages.fifo", attrs{"DeduplicationScope": "messageGroup"}, "DeduplicationScope")
		differs("wages.fifo", attrs{"FifoQueue": "false"}, "FifoQueue")
	})
}

func TestFact039CreateAfterDelete(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		s.delete(s.queue("orders", nil))
		const code = "AWS.SimpleQueueService.QueueDeletedRecently"
		s.create("orders", nil).refused(400, code, deletedLately)
		s.create("wages", nil).ok()
		s.region("eu-west-1").create("orders", nil).ok()
		s.advance(59 * time.Second)
		s.create("orders", nil).refused(400, code, deletedLately)
		s.advance(time.Second)
		s.create("orders", nil).ok()
		s.shows(s.queue("orders", nil), attrs{"DelaySeconds": "0"})
	})
}

func TestFact039RelaxedCreateAfterDelete(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.delete(s.queue("orders", nil))
		s.create("orders", attrs{"DelaySeconds": "1"}).ok()
	}, func(c *sqs.Config) { c.Relaxed = true })
}

func TestFact040RangeOfMaximumMessageSize(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		const message = "Invalid value for the parameter MaximumMessageSize."
		url := s.queue("orders", nil)
		for _, wrong := range []string{"1023", "1048577", "-1", "", "many", "1024.5"} {
			s.create("wages", attrs{"MaximumMessageSize": wrong}).refused(400, "InvalidAttributeValue", message)
			s.set(url, attrs{"MaximumMessageSize": wrong}).refused(400, "InvalidAttributeValue", message)
		}
		for _, right := range []string{"1024", "1048576"} {
			s.set(url, attrs{"MaximumMessageSize": right}).ok()
			s.shows(url, attrs{"MaximumMessageSize": right})
		}
	})
}

func TestFact041RangesOfAttributes(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		for name, bounds := range map[string][2]int{
			"VisibilityTimeout":             {0, 43200},
			"DelaySeconds":                  {0, 900},
			"ReceiveMessageWaitTimeSeconds": {0, 20},
			"MessageRetentionPeriod":        {60, 1209600},
			"KmsDataKeyReusePeriodSeconds":  {60, 86400},
		} {
			for _, right := range bounds {
				s.set(url, attrs{name: strconv.Itoa(right)}).ok()
				s.shows(url, attrs{name: strconv.Itoa(right)})
			}
			for _, wrong := range []int{bounds[0] - 1, bounds[1] + 1} {
				s.set(url, attrs{name: strconv.Itoa(wrong)}).refused(400, "InvalidAttributeValue", "Invalid value for the parameter "+name+".")
			}
		}
	})
}

// All that a queue can keep fits at once.
func TestFact041LongestValues(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders.fifo", attrs{"FifoQueue": "true"})
		longest := attrs{
			"Policy":              `{"Statement":[],"Id":"` + strings.Repeat("x", 8192-len(`{"Statement":[],"Id":""}`)) + `"}`,
			"KmsMasterKeyId":      strings.Repeat("k", 2048),
			"DeduplicationScope":  "messageGroup",
			"FifoThroughputLimit": "perMessageGroupId",
			"RedriveAllowPolicy":  `{"redrivePermission":"allowAll"}`,
		}
		s.set(url, longest).ok()
		s.shows(url, attrs{"KmsMasterKeyId": longest["KmsMasterKeyId"], "FifoThroughputLimit": "perMessageGroupId"})
		s.set(url, attrs{"KmsMasterKeyId": strings.Repeat("k", 2049)}).refused(400, "InvalidAttributeValue", "")
	})
}

func TestFact041EmptyRemoves(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		url := s.queue("orders", attrs{"Policy": "", "RedrivePolicy": "", "RedriveAllowPolicy": ""})
		s.set(url, attrs{
			"Policy":             `{"Version": "2012-10-17", "Statement": [{"Sid": "a", "Effect": "Allow"}], "Extra": 1}`,
			"RedrivePolicy":      redriveTo("grave", 3),
			"RedriveAllowPolicy": `{"redrivePermission": "denyAll"}`,
		}).ok()
		s.shows(url, attrs{
			"Policy":             `{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow"}],"Extra":1}`,
			"RedrivePolicy":      redriveTo("grave", 3),
			"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`,
		})
		s.set(url, attrs{"Policy": "", "RedrivePolicy": "", "RedriveAllowPolicy": ""}).ok()
		s.shows(url, attrs{"Policy": "", "RedrivePolicy": "", "RedriveAllowPolicy": ""})
	})
}

func TestFact042ReceiveCountAsTextOrNumber(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		url := s.queue("orders", nil)
		for _, count := range []string{`"7"`, `7`} {
			s.set(url, attrs{"RedrivePolicy": `{"maxReceiveCount": ` + count + `, "deadLetterTargetArn": "` + arnOf("grave") + `"}`}).ok()
			s.shows(url, attrs{"RedrivePolicy": redriveTo("grave", 7)})
			s.set(url, attrs{"RedrivePolicy": ""}).ok()
		}
	})
}

func TestFact043BadRedrivePolicies(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		s.queue("grave.fifo", attrs{"FifoQueue": "true"})
		url := s.queue("orders", nil)
		for _, wrong := range []string{
			`{"deadLetterTargetArn":"` + arnOf("grave") + `"}`,
			`{"maxReceiveCount":3}`,
			redriveTo("missing", 3),
			redriveTo("grave", 0),
			redriveTo("grave", 1001),
			`{"deadLetterTargetArn":"` + arnOf("grave") + `","maxReceiveCount":"some"}`,
			`{"deadLetterTargetArn":"` + arnOf("grave") + `","maxReceiveCount":1.5}`,
			`{"deadLetterTargetArn":"` + arnOf("grave") + `","maxReceiveCount":null}`,
			`{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:grave","maxReceiveCount":3}`,
			`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:111122223333:grave","maxReceiveCount":3}`,
			redriveTo("grave.fifo", 3),
			"grave",
			"[]",
		} {
			s.set(url, attrs{"RedrivePolicy": wrong}).refused(400, "InvalidParameterValue", "")
			s.create("wages", attrs{"RedrivePolicy": wrong}).refused(400, "InvalidParameterValue", "")
		}
		s.shows(url, attrs{"RedrivePolicy": ""})
		s.create("wages.fifo", attrs{"FifoQueue": "true", "RedrivePolicy": redriveTo("grave", 3)}).refused(400, "InvalidParameterValue", "")
		s.create("wages.fifo", attrs{"FifoQueue": "true", "RedrivePolicy": redriveTo("grave.fifo", 3)}).ok()
	})
}

func TestFact044Tags(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.do("CreateQueue", params{"QueueName": "orders", "tags": attrs{"team": "a", "Team": ""}}).ok().text("QueueUrl")
		wantTags := func(want params) {
			t.Helper()
			s.do("ListQueueTags", params{"QueueUrl": url}).ok().want(t, want)
		}
		wantTags(params{"Tags": map[string]any{"team": "a", "Team": ""}})
		s.do("TagQueue", params{"QueueUrl": url, "Tags": attrs{"team": "b", "cost": "1"}}).ok()
		wantTags(params{"Tags": map[string]any{"team": "b", "Team": "", "cost": "1"}})
		s.do("UntagQueue", params{"QueueUrl": url, "TagKeys": []string{"team", "absent"}}).ok()
		wantTags(params{"Tags": map[string]any{"Team": "", "cost": "1"}})
		s.do("TagQueue", params{"QueueUrl": url}).refused(400, "MissingParameter", "The request must contain the parameter Tags.")
		s.do("UntagQueue", params{"QueueUrl": url}).refused(400, "InvalidParameterValue", "Tag keys must be between 1 and 128 characters in length.")
		s.do("UntagQueue", params{"QueueUrl": url, "TagKeys": []string{"Team", "cost"}}).ok()
		wantTags(params{})
	})
}

func TestFact044TooManyTags(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		tags := func(from, to int) attrs {
			all := attrs{}
			for i := from; i < to; i++ {
				all[fmt.Sprint("tag", i)] = "x"
			}
			return all
		}
		const message = "Too many tags added for queue orders."
		s.do("CreateQueue", params{"QueueName": "orders", "tags": tags(0, 51)}).refused(400, "InvalidParameterValue", message)
		url := s.do("CreateQueue", params{"QueueName": "orders", "tags": tags(0, 49)}).ok().text("QueueUrl")
		s.do("TagQueue", params{"QueueUrl": url, "Tags": tags(48, 51)}).refused(400, "InvalidParameterValue", message)
		if got := s.do("ListQueueTags", params{"QueueUrl": url}).ok().object("Tags"); len(got) != 49 {
			t.Errorf("after a refused TagQueue there are %d tags, want 49", len(got))
		}
		s.do("TagQueue", params{"QueueUrl": url, "Tags": tags(48, 50)}).ok()
	})
}

func TestFact045ListQueues(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		var urls []string
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2.fifo"} {
			var attributes attrs
			if strings.HasSuffix(name, ".fifo") {
				attributes = attrs{"FifoQueue": "true"}
			}
			urls = append(urls, s.queue(name, attributes))
		}
		list := func(in params) members {
			t.Helper()
			return s.do("ListQueues", in).ok()
		}
		same := func(m members, token bool, want ...string) {
			t.Helper()
			if got := m.texts("QueueUrls"); !slices.Equal(got, want) || (m.text("NextToken") != "") != token {
				t.Fatalf("listed %v and token %q, want %v and one: %t", got, m.text("NextToken"), want, token)
			}
		}
		same(list(params{}), false, urls...)
		same(list(params{"QueueNamePrefix": "a"}), false, urls[:3]...)
		list(params{"QueueNamePrefix": "c"}).want(t, params{})
		first := list(params{"MaxResults": 2})
		same(first, true, urls[:2]...)
		second := list(params{"MaxResults": 2, "NextToken": first.text("NextToken")})
		same(second, true, urls[2:4]...)
		same(list(params{"MaxResults": 2, "NextToken": second.text("NextToken")}), false, urls[4:]...)
		same(list(params{"MaxResults": 5}), false, urls...)
		same(list(params{"MaxResults": 3, "QueueNamePrefix": "a"}), false, urls[:3]...)
		for _, wrong := range []int{0, -1, 1001} {
			s.do("ListQueues", params{"MaxResults": wrong}).refused(400, "InvalidParameterValue", "")
		}
		for _, wrong := range []string{"a1", "???", "YTE"} {
			s.do("ListQueues", params{"MaxResults": 2, "NextToken": wrong}).refused(400, "InvalidParameterValue", "")
		}
	})
}

func TestFact045AThousandQueuesWithoutPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i := range 1001 {
		s.queue(fmt.Sprintf("q%04d", i), nil)
	}
	all := s.json("ListQueues", params{}).ok()
	if got := all.texts("QueueUrls"); len(got) != 1000 || all.text("NextToken") != "" {
		t.Errorf("without MaxResults there are %d queues and token %q, want 1000 and none", len(got), all.text("NextToken"))
	}
	page := s.json("ListQueues", params{"MaxResults": 1000}).ok()
	if got := page.texts("QueueUrls"); len(got) != 1000 {
		t.Errorf("MaxResults 1000 gave %d queues", len(got))
	}
	rest := s.json("ListQueues", params{"MaxResults": 1000, "NextToken": page.text("NextToken")}).ok()
	if got := rest.texts("QueueUrls"); len(got) != 1 || !strings.HasSuffix(got[0], "/q1000") || rest.text("NextToken") != "" {
		t.Errorf("the second page has %v and token %q, want q1000 alone", got, rest.text("NextToken"))
	}
}

func TestFact046MissingQueues(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("orders", nil)
		for _, in := range []params{{"QueueName": "orders"}, {"QueueName": "orders", "QueueOwnerAWSAccountId": "000000000000"}} {
			if got := s.do("GetQueueUrl", in).ok().text("QueueUrl"); got != url {
				t.Errorf("GetQueueUrl %v = %s, want %s", in, got, url)
			}
		}
		s.do("GetQueueUrl", params{"QueueName": "orders", "QueueOwnerAWSAccountId": "111122223333"}).refused(400, noQueue, "")
		s.do("GetQueueUrl", params{"QueueName": "missing"}).refused(400, noQueue, "")
		for operation, more := range map[string]params{
			"DeleteQueue":                {},
			"PurgeQueue":                 {},
			"DeleteMessage":              {"ReceiptHandle": "garbage"},
			"TagQueue":                   {"Tags": attrs{"a": "b"}},
			"UntagQueue":                 {"TagKeys": []string{"a"}},
			"ListQueueTags":              {},
			"GetQueueAttributes":         {"AttributeNames": []string{"Foobar"}},
			"SetQueueAttributes":         {"Attributes": attrs{"DelaySeconds": "1"}},
			"AddPermission":              {"Label": "a", "AWSAccountIds": []string{"111122223333"}, "Actions": []string{"SendMessage"}},
			"RemovePermission":           {"Label": "a"},
			"ListDeadLetterSourceQueues": {"MaxResults": 0},
			"SendMessage":                {"MessageBody": ""},
			"ReceiveMessage":             {"MaxNumberOfMessages": 11},
			"ChangeMessageVisibility":    {"ReceiptHandle": "garbage", "VisibilityTimeout": -1},
		} {
			missing := params{"QueueUrl": strings.Replace(url, "orders", "missing", 1)}
			s.do(operation, with(missing, more)).refused(400, noQueue, "")
			s.do(operation, missing).refused(400, noQueue, "") // whatever else is missing
		}
	})
}

func TestFact047RegionsAreApart(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		home, away := s, s.region("eu-west-1")
		url := home.queue("orders", attrs{"DelaySeconds": "1"})
		away.do("GetQueueUrl", params{"QueueName": "orders"}).refused(400, noQueue, "")
		away.queue("orders", attrs{"DelaySeconds": "2"})
		away.queue("wages", nil)
		home.shows(url, attrs{"DelaySeconds": "1", "QueueArn": "arn:aws:sqs:us-east-1:000000000000:orders"})
		away.shows(url, attrs{"DelaySeconds": "2", "QueueArn": "arn:aws:sqs:eu-west-1:000000000000:orders"})
		if got := home.do("ListQueues", params{}).ok().texts("QueueUrls"); len(got) != 1 {
			t.Errorf("the first region has %v, want one queue", got)
		}
		if got := away.do("ListQueues", params{}).ok().texts("QueueUrls"); len(got) != 2 {
			t.Errorf("the second region has %v, want two queues", got)
		}
		if q, err := s.engine.Queue(t.Context(), engine.Ref{Tenant: "default", Name: "orders"}); err != nil || q.Config.Delay != time.Second {
			t.Errorf("the native API sees delay %v and error %v, want the queue of the server's own region", q.Config.Delay, err)
		}
	})
}

func TestFact131LimitsOfPoliciesAndTags(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("orders", nil)
		sized := func(n int) string {
			const frame = `{"Statement":[],"Id":""}`
			return `{"Id":"` + strings.Repeat("x", n-len(frame)) + `","Statement":[]}`
		}
		s.set(url, attrs{"Policy": sized(8192)}).ok()
		s.set(url, attrs{"Policy": sized(8193)}).refused(400, "InvalidAttributeValue", "Invalid value for the parameter Policy.")
		for _, wrong := range []string{"{", "[]", `"a"`, `{"Statement":"a"}`, `{"Statement":null}`, `{"Statement":["a"]}`, `{"Statement":[],"Statement":[]}`} {
			s.set(url, attrs{"Policy": wrong}).refused(400, "InvalidAttributeValue", "Invalid value for the parameter Policy.")
		}
		tag := func(key, value string) *answer {
			return s.do("TagQueue", params{"QueueUrl": url, "Tags": attrs{key: value}})
		}
		tag(strings.Repeat("ü", 128), strings.Repeat("ü", 256)).ok()
		for _, wrong := range []string{"", strings.Repeat("k", 129), "aws:a", "AWS:a"} {
			tag(wrong, "v").refused(400, "InvalidParameterValue", "")
		}
		tag("k", strings.Repeat("v", 257)).refused(400, "InvalidParameterValue", "")
		s.do("CreateQueue", params{"QueueName": "wages", "tags": attrs{"aws:a": ""}}).refused(400, "InvalidParameterValue", "")
		if got := s.do("ListQueueTags", params{"QueueUrl": url}).ok().object("Tags"); len(got) != 1 {
			t.Errorf("there are %d tags, want the one that was accepted", len(got))
		}
	})
}

// A queue of the native API shows what SQS can say of it.
func TestNativeQueueShowsItsAttributes(t *testing.T) {
	t.Parallel()
	s := start(t)
	config := engine.DefaultConfig()
	config.Visibility = 1500 * time.Millisecond
	config.MaxMessageBytes = 4 << 20
	config.Retry.MaxReceives = 5
	config.Dedup.Scope = engine.ScopeGroup
	config.FIFO = true
	if _, _, err := s.engine.PutQueue(t.Context(), engine.Ref{Tenant: "default", Name: "native.fifo"}, config, engine.Condition{}); err != nil {
		t.Fatal(err)
	}
	s.shows("native.fifo", attrs{
		"VisibilityTimeout": "2", "MaximumMessageSize": "4194304", "RedrivePolicy": "", "SqsManagedSseEnabled": "true",
		"FifoQueue": "true", "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perQueue",
	})
	half := engine.DefaultConfig()
	half.DeadLetter.Queue = "grave"
	if _, _, err := s.engine.PutQueue(t.Context(), engine.Ref{Tenant: "default", Name: "native"}, half, engine.Condition{}); err != nil {
		t.Fatal(err)
	}
	s.shows("native", attrs{"RedrivePolicy": "", "DeduplicationScope": ""})
	s.set("native.fifo", attrs{"DelaySeconds": "3"}).ok()
	q, err := s.engine.Queue(t.Context(), engine.Ref{Tenant: "default", Name: "native.fifo"})
	if err != nil {
		t.Fatal(err)
	}
	config.Delay = 3 * time.Second
	if diff := cmp.Diff(config, q.Config); diff != "" {
		t.Errorf("a set attribute changed more than itself (-want +got):\n%s", diff)
	}
}

// What a queue is like that was created here.
func TestCreatedQueueIsAsOnAWS(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("orders.fifo", attrs{"FifoQueue": "true"})
	got, err := s.engine.Config(t.Context(), engine.Ref{Tenant: "default", Name: "orders.fifo"})
	if err != nil {
		t.Fatal(err)
	}
	want := engine.DefaultConfig()
	want.FIFO, want.GroupLock = true, engine.GroupLockTail
	want.DeadLetter.When = engine.Lazy
	want.Limits.MaxInFlight = 120_000
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// The JSON of an answer is what clients decode; a redrive policy must be JSON, too.
func TestRedrivePolicyIsJSON(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.queue("grave", nil)
	url := s.queue("orders", attrs{"RedrivePolicy": redriveTo("grave", 4)})
	var got struct {
		DeadLetterTargetARN string `json:"deadLetterTargetArn"`
		MaxReceiveCount     int    `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(s.shown(url, "RedrivePolicy")["RedrivePolicy"]), &got); err != nil {
		t.Fatal(err)
	}
	if got.DeadLetterTargetARN != arnOf("grave") || got.MaxReceiveCount != 4 {
		t.Errorf("redrive policy = %+v", got)
	}
}
