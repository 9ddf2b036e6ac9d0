package sqs_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/handlers/sqs"
)

// inBubble runs a test on a new server for each protocol in which everything waits only for the clock: after
// synctest.Wait all is done that time allows.
func inBubble(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	for _, queries := range []bool{false, true} {
		name := "JSON"
		if queries {
			name = "Query"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(t)
				s.queries = queries
				test(t, s)
			})
		})
	}
}

// later lets time pass in a bubble and waits until everything is done.
func (s *server) later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// work is a queue whose messages go to the queue grave after one delivery.
func (s *server) work(name, grave string) (url string) {
	s.t.Helper()
	return s.queue(name, attrs{"RedrivePolicy": redriveTo(grave, 1)})
}

// bury sends messages and has them go to the dead-letter queue.
func (s *server) bury(url string, bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		s.put(url, body)
		s.one(url, params{"VisibilityTimeout": 0})
		if got := s.receive(url); len(got) > 0 {
			s.t.Fatalf("message %s is received a second time: %v", body, got)
		}
	}
}

// move starts a move task and gives its handle.
func (s *server) move(source string, more ...params) string {
	s.t.Helper()
	return s.do("StartMessageMoveTask", with(append([]params{{"SourceArn": arnOf(source)}}, more...)...)).ok().text("TaskHandle")
}

// moves are the move tasks of a queue.
func (s *server) moves(source string) []members {
	s.t.Helper()
	return s.do("ListMessageMoveTasks", params{"SourceArn": arnOf(source), "MaxResults": 10}).ok().list("Results")
}

// moved stops the test unless the newest move task of a queue has a status and has moved so many messages.
func (s *server) moved(source, status string, n int) members {
	s.t.Helper()
	all := s.moves(source)
	if len(all) == 0 {
		s.t.Fatalf("%s has no move task", source)
	}
	if got := all[0]; got.text("Status") != status || got["ApproximateNumberOfMessagesMoved"] != float64(n) {
		s.t.Fatalf("the move task of %s is %v, want %s and %d moved", source, got, status, n)
	}
	return all[0]
}

func TestFact105PurgeTwice(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		other := s.queue("wages", nil)
		s.put(url, "a")
		s.put(url, "b", params{"DelaySeconds": 100})
		s.put(url, "c")
		s.one(url)
		purge := func(url string) *answer { return s.do("PurgeQueue", params{"QueueUrl": url}) }
		const code, message = "AWS.SimpleQueueService.PurgeQueueInProgress", "Only one PurgeQueue operation on orders is allowed every 60 seconds."
		purge(url).ok()
		s.counts(url, 0, 0, 0)
		s.put(url, "d")
		purge(url).refused(403, code, message)
		purge(other).ok()
		s.advance(59 * time.Second)
		purge(url).refused(403, code, message)
		s.counts(url, 1, 0, 0)
		s.advance(time.Second)
		purge(url).ok()
		s.counts(url, 0, 0, 0)
	})
}

func TestFact105RelaxedPurgeTwice(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		for range 2 {
			s.put(url, "a")
			s.do("PurgeQueue", params{"QueueUrl": url}).ok()
			s.counts(url, 0, 0, 0)
		}
	}, func(c *sqs.Config) { c.Relaxed = true })
}

func TestFact109SourcesOfADeadLetterQueue(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		grave := s.queue("grave", nil)
		list := func(in params) members {
			t.Helper()
			return s.do("ListDeadLetterSourceQueues", with(params{"QueueUrl": grave}, in)).ok()
		}
		wants := func(got members, token bool, want ...string) {
			t.Helper()
			if !slices.Equal(got.texts("queueUrls"), want) || (got.text("NextToken") != "") != token {
				t.Fatalf("sources are %v, want %v and a token: %t", got, want, token)
			}
		}
		wants(list(nil), false)
		a, b, c := s.work("a", "grave"), s.work("b", "grave"), s.work("c", "grave")
		wants(list(nil), false, a, b, c)
		first := list(params{"MaxResults": 2})
		wants(first, true, a, b)
		wants(list(params{"MaxResults": 2, "NextToken": first.text("NextToken")}), false, c)
		s.set(a, attrs{"RedrivePolicy": ""}).ok()
		s.delete(b)
		wants(list(nil), false, c)
	})
}

func TestFact110SourceIsNoDeadLetterQueue(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		start := func() *answer { return s.do("StartMessageMoveTask", params{"SourceArn": arnOf("grave")}) }
		const message = "Source queue must be configured as a Dead Letter Queue."
		start().refused(400, "InvalidParameterValue", message)
		work := s.work("work", "grave")
		start().ok()
		s.set(work, attrs{"RedrivePolicy": ""}).ok()
		start().refused(400, "InvalidParameterValue", message)
	})
}

func TestFact111MissingQueuesOfAMove(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		s.work("work", "grave")
		start := func(in params) *answer { return s.do("StartMessageMoveTask", in) }
		for _, arn := range []string{arnOf("missing"), "arn:aws:sqs:eu-west-1:000000000000:work", "work"} {
			start(params{"SourceArn": arnOf("grave"), "DestinationArn": arn}).refused(404, "ResourceNotFoundException",
				"The resource that you specified for the DestinationArn parameter doesn't exist.")
			start(params{"SourceArn": arn}).refused(404, "ResourceNotFoundException",
				"The resource that you specified for the SourceArn parameter doesn't exist.")
		}
		start(params{}).refused(400, "MissingParameter", "The request must contain the parameter SourceArn.")
		for _, rate := range []int{0, 501} {
			start(params{"SourceArn": arnOf("grave"), "MaxNumberOfMessagesPerSecond": rate}).refused(400, "InvalidParameterValue", "")
		}
	})
}

func TestFact112OneTaskAtATime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		s.bury(s.work("work", "grave"), "a", "b", "c")
		s.queue("grave2", nil)
		s.bury(s.work("work2", "grave2"), "a")
		slow := params{"SourceArn": arnOf("grave"), "MaxNumberOfMessagesPerSecond": 1}
		s.do("StartMessageMoveTask", slow).ok()
		s.do("StartMessageMoveTask", slow).refused(400, "InvalidParameterValue",
			"There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
		s.move("grave2")
		s.later(10 * time.Second)
		s.moved("grave", "COMPLETED", 3)
		s.do("StartMessageMoveTask", slow).ok()
	})
}

// The second request comes when the first has looked for tasks and not begun its own yet.
func TestFact112TwoStartsAtOnce(t *testing.T) {
	t.Parallel()
	s, _, st := startInterrupted(t)
	s.queue("grave", nil)
	s.work("work", "grave")
	st.once("task/default", func() {
		s.do("StartMessageMoveTask", params{"SourceArn": arnOf("grave")}).refused(400, "InvalidParameterValue",
			"There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
	})
	s.move("grave")
	if st.waits() {
		t.Fatal("the second request was not made")
	}
}

func TestFact113TaskHandle(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		s.queue("grave", nil)
		s.bury(s.work("work", "grave"), "a", "b", "c")
		handle := s.move("grave", params{"MaxNumberOfMessagesPerSecond": 1})
		text, err := base64.StdEncoding.DecodeString(handle)
		if err != nil {
			t.Fatalf("handle %q: %v", handle, err)
		}
		var got map[string]string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("handle %s: %v", text, err)
		}
		parts := strings.Split(got["taskId"], "-")
		var lengths []int
		for _, part := range parts {
			lengths = append(lengths, len(part))
		}
		if !slices.Equal(lengths, []int{8, 4, 4, 4, 12}) || got["sourceArn"] != arnOf("grave") || len(got) != 2 {
			t.Errorf("handle is %s, want taskId, a UUID, and sourceArn", text)
		}
		synctest.Wait()
		if running := s.moves("grave")[0]; running.text("TaskHandle") != handle {
			t.Errorf("a running task shows the handle %q, want %q", running.text("TaskHandle"), handle)
		}
		s.later(10 * time.Second)
		if _, ok := s.moved("grave", "COMPLETED", 3)["TaskHandle"]; ok {
			t.Error("a completed task shows its handle")
		}
	})
}

func TestFact114CancelWhatIsNotThere(t *testing.T) {
	t.Parallel()
	inBubble(t, func(_ *testing.T, s *server) {
		s.queue("grave", nil)
		s.queue("grave2", nil)
		s.bury(s.work("work", "grave"), "a", "b", "c")
		cancel := func(handle string) *answer { return s.do("CancelMessageMoveTask", params{"TaskHandle": handle}) }
		handle := func(id, source string) string {
			return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"taskId":%q,"sourceArn":%q}`, id, source))
		}
		const id = "01234567-89ab-cdef-0123-456789abcdef"
		for _, wrong := range []string{
			"foobared", "?", base64.StdEncoding.EncodeToString([]byte("{}")), handle("", arnOf("grave")), handle("x", arnOf("grave")),
			handle("0123456789abcdef0123456789abcdef", arnOf("grave")), handle(id, ""),
		} {
			cancel(wrong).refused(400, "InvalidParameterValue", "Value for parameter TaskHandle is invalid.")
		}
		cancel(handle(id, arnOf("missing"))).refused(404, "ResourceNotFoundException",
			"The resource that you specified for the SourceArn parameter doesn't exist.")
		cancel(handle(id, arnOf("grave"))).refused(404, "ResourceNotFoundException", "Task does not exist.")

		right := s.move("grave", params{"MaxNumberOfMessagesPerSecond": 1})
		text, _ := base64.StdEncoding.DecodeString(right)
		elsewhere := strings.Replace(string(text), "grave", "grave2", 1)
		cancel(base64.StdEncoding.EncodeToString([]byte(elsewhere))).refused(404, "ResourceNotFoundException", "Task does not exist.")
		cancel(right).ok()
		cancel(right).refused(400, "InvalidParameterValue", "")
	})
}

func TestFact115BackToTheirSources(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		grave := s.queue("grave", nil)
		a, b := s.work("a", "grave"), s.work("b", "grave")
		s.bury(a, "a1", "a2")
		s.bury(b, "b1")
		s.counts(grave, 3, 0, 0)
		s.move("grave")
		s.later(time.Second)
		if _, ok := s.moved("grave", "COMPLETED", 3)["DestinationArn"]; ok {
			t.Error("a task without a destination shows one")
		}
		s.counts(grave, 0, 0, 0)
		s.gives(a, "a1", "a2")
		s.gives(b, "b1")
	})
}

func TestFact116ListOfTasks(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		s.queue("grave", nil)
		s.queue("other", nil)
		work := s.work("work", "grave")
		if got := s.do("ListMessageMoveTasks", params{"SourceArn": arnOf("grave")}).ok(); len(got) != 0 {
			t.Errorf("a queue without tasks lists %v", got)
		}
		var began []float64
		for i := range 11 {
			s.bury(work, "m")
			began = append(began, float64(s.now().UnixMilli()))
			s.move("grave", params{"DestinationArn": arnOf("other"), "MaxNumberOfMessagesPerSecond": 100 + i})
			s.later(time.Minute)
		}
		all := s.moves("grave")
		if len(all) != 10 {
			t.Fatalf("there are %d tasks, want the ten newest", len(all))
		}
		for i, got := range all {
			got.want(t, params{
				"Status":                            "COMPLETED",
				"SourceArn":                         arnOf("grave"),
				"DestinationArn":                    arnOf("other"),
				"MaxNumberOfMessagesPerSecond":      float64(110 - i),
				"ApproximateNumberOfMessagesMoved":  1.0,
				"ApproximateNumberOfMessagesToMove": 1.0,
				"StartedTimestamp":                  began[10-i],
			})
		}
		if got := s.do("ListMessageMoveTasks", params{"SourceArn": arnOf("grave")}).ok().list("Results"); len(got) != 1 {
			t.Errorf("without MaxResults there are %d tasks, want one", len(got))
		}
		for _, wrong := range []int{0, 11} {
			s.do("ListMessageMoveTasks", params{"SourceArn": arnOf("grave"), "MaxResults": wrong}).refused(400, "InvalidParameterValue", "")
		}
		s.do("ListMessageMoveTasks", params{"SourceArn": arnOf("missing")}).refused(404, "ResourceNotFoundException",
			"The resource that you specified for the SourceArn parameter doesn't exist.")
		s.do("ListMessageMoveTasks", params{}).refused(400, "MissingParameter", "")
	})
}

func TestFact117Throttled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(_ *testing.T, s *server) {
		grave := s.queue("grave", nil)
		work := s.work("work", "grave")
		s.bury(work, "a", "b", "c", "d")
		s.move("grave", params{"MaxNumberOfMessagesPerSecond": 1})
		synctest.Wait()
		for i := range 3 {
			s.counts(work, 1+i, 0, 0)
			s.counts(grave, 3-i, 0, 0)
			s.later(time.Second)
		}
		s.counts(work, 4, 0, 0)
		s.later(2 * time.Second)
		s.moved("grave", "COMPLETED", 4)
	})
}

func TestFact117Cancel(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		grave := s.queue("grave", nil)
		work := s.work("work", "grave")
		s.bury(work, "a", "b", "c", "d")
		handle := s.move("grave", params{"MaxNumberOfMessagesPerSecond": 1})
		s.later(time.Second)
		s.do("CancelMessageMoveTask", params{"TaskHandle": handle}).ok().want(t, params{"ApproximateNumberOfMessagesMoved": 2.0})
		s.later(time.Minute)
		s.counts(work, 2, 0, 0)
		s.counts(grave, 2, 0, 0)
		got := s.moved("grave", "CANCELLED", 2)
		if _, ok := got["TaskHandle"]; ok || got["ApproximateNumberOfMessagesToMove"] != 4.0 {
			t.Errorf("a cancelled task is %v, want no handle and 4 to move", got)
		}
	})
}

func TestFact118DestinationDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		grave := s.queue("grave", nil)
		s.bury(s.work("work", "grave"), "a", "b", "c", "d")
		other := s.queue("other", nil)
		s.move("grave", params{"DestinationArn": arnOf("other"), "MaxNumberOfMessagesPerSecond": 1})
		synctest.Wait()
		s.counts(other, 1, 0, 0)
		s.delete(other)
		s.later(time.Minute)
		if got := s.moved("grave", "FAILED", 1); got.text("FailureReason") != noQueue {
			t.Errorf("the failed task is %v, want the reason %s", got, noQueue)
		}
		s.counts(grave, 3, 0, 0)
	})
}

// permit adds a permission.
func (s *server) permit(url, label string, accounts, actions []string) *answer {
	s.t.Helper()
	return s.do("AddPermission", params{"QueueUrl": url, "Label": label, "AWSAccountIds": accounts, "Actions": actions})
}

func TestFact119PermissionsBecomeAPolicy(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("orders", nil)
		one, two := []string{"111122223333"}, []string{"111122223333", "444455556666"}
		s.permit(url, "receive", one, []string{"ReceiveMessage"}).ok()
		s.permit(url, "both", two, []string{"SendMessage", "GetQueueUrl"}).ok()
		var got map[string]any
		if err := json.Unmarshal([]byte(s.shown(url)["Policy"]), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"Version": "2008-10-17",
			"Id":      arnOf("orders") + "/SQSDefaultPolicy",
			"Statement": []any{
				map[string]any{
					"Sid": "receive", "Effect": "Allow", "Resource": arnOf("orders"), "Action": "SQS:ReceiveMessage",
					"Principal": map[string]any{"AWS": "arn:aws:iam::111122223333:root"},
				},
				map[string]any{
					"Sid": "both", "Effect": "Allow", "Resource": arnOf("orders"), "Action": []any{"SQS:SendMessage", "SQS:GetQueueUrl"},
					"Principal": map[string]any{"AWS": []any{"arn:aws:iam::111122223333:root", "arn:aws:iam::444455556666:root"}},
				},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("policy (-want +got):\n%s", diff)
		}
		s.do("RemovePermission", params{"QueueUrl": url, "Label": "receive"}).ok()
		if policy := s.shown(url)["Policy"]; strings.Contains(policy, "ReceiveMessage") || !strings.Contains(policy, "GetQueueUrl") {
			t.Errorf("after a removal the policy is %s", policy)
		}
		s.do("RemovePermission", params{"QueueUrl": url, "Label": "both"}).ok()
		s.shows(url, attrs{"Policy": ""})
	})
}

func TestFact119PermissionJoinsAPolicyOfTheOwner(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", attrs{"Policy": `{"Version":"2012-10-17","Statement":{"Sid":"mine","Effect":"Deny","Condition":{"x":1}}}`})
		s.permit(url, "all", []string{"111122223333"}, []string{"*"}).ok()
		s.shows(url, attrs{"Policy": `{"Version":"2012-10-17","Statement":[{"Sid":"mine","Effect":"Deny","Condition":{"x":1}},` +
			`{"Sid":"all","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"SQS:*","Resource":"` + arnOf("orders") + `"}]}`})
		s.permit(url, "mine", []string{"111122223333"}, []string{"*"}).refused(400, "InvalidParameterValue",
			"Value mine for parameter Label is invalid. Reason: Already exists.")
	})
}

func TestFact120RefusedPermissions(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("orders", nil)
		account, send := []string{"111122223333"}, []string{"SendMessage"}
		s.permit(url, "a", account, send).ok()
		s.permit(url, "a", account, send).refused(400, "InvalidParameterValue", "Value a for parameter Label is invalid. Reason: Already exists.")
		remove := func(label string) *answer { return s.do("RemovePermission", params{"QueueUrl": url, "Label": label}) }
		remove("b").refused(400, "InvalidParameterValue", "Value b for parameter Label is invalid. Reason: can't find label.")
		s.permit(url, "b", account, []string{"SendMessage", "RemovePermission"}).refused(400, "InvalidParameterValue",
			"Value SQS:RemovePermission for parameter ActionName is invalid. Reason: Only the queue owner is allowed to invoke this action.")
		eight := []string{
			"SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl", "PurgeQueue",
			"ListDeadLetterSourceQueues",
		}
		s.permit(url, "b", account, eight).refused(403, "OverLimit", "8 Actions were found, maximum allowed is 7.")
		s.permit(url, "b", account, eight[:7]).ok()
		for _, in := range []struct {
			label             string
			accounts, actions []string
		}{
			{"a b", account, send},
			{strings.Repeat("a", 81), account, send},
			{"c", []string{"12"}, send},
			{"c", account, []string{"Fly"}},
		} {
			s.permit(url, in.label, in.accounts, in.actions).refused(400, "InvalidParameterValue", "")
		}
		s.permit(url, "", account, send).refused(400, "MissingParameter", "The request must contain the parameter Label.")
		s.permit(url, "c", nil, send).refused(400, "InvalidParameterValue", "Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.")
		s.permit(url, "c", []string{}, send).refused(400, "InvalidParameterValue", "Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.")
		s.permit(url, "c", account, nil).refused(400, "MissingParameter", "")
		remove("").refused(400, "MissingParameter", "The request must contain the parameter Label.")
		remove("a").ok()
		remove("b").ok()
		remove("b").refused(400, "InvalidParameterValue", "Value b for parameter Label is invalid. Reason: can't find label.")
	})
}

func TestFact120PolicyIsFull(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("orders", nil)
	accounts := make([]string, 100)
	for i := range accounts {
		accounts[i] = fmt.Sprintf("%012d", i)
	}
	s.permit(url, "a", accounts, []string{"SendMessage"}).ok()
	s.permit(url, "b", accounts, []string{"SendMessage"}).ok()
	s.permit(url, "c", accounts, []string{"SendMessage"}).refused(403, "OverLimit", "")
	if policy := s.shown(url)["Policy"]; strings.Contains(policy, `"Sid":"c"`) || len(policy) > 8192 {
		t.Errorf("a refused permission left a policy of %d bytes", len(policy))
	}
}

// Here retention begins anew with the move on both kinds of queue. AWS counts on from the sending on standard queues,
// which would take a message away before anybody could look at why it died.
func TestFact124RetentionOfDeadLetters(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("orders"+suffix, func(t *testing.T) {
			t.Parallel()
			both(t, func(_ *testing.T, s *server) {
				common := attrs{"MessageRetentionPeriod": "600", "VisibilityTimeout": "30"}
				group := params{}
				if suffix != "" {
					common["FifoQueue"] = "true"
					group = params{"MessageGroupId": "g", "MessageDeduplicationId": "d"}
				}
				grave := s.queue("grave"+suffix, common)
				source := attrs{"RedrivePolicy": redriveTo("grave"+suffix, 1)}
				maps.Copy(source, common)
				url := s.queue("orders"+suffix, source)
				s.put(url, "m", group)
				s.advance(550 * time.Second)
				s.one(url)
				s.advance(31 * time.Second)
				s.gives(url)
				s.counts(grave, 1, 0, 0)
				s.advance(590 * time.Second)
				s.counts(grave, 1, 0, 0)
				s.advance(11 * time.Second)
				s.gives(grave)
				s.counts(grave, 0, 0, 0)
			})
		})
	}
}

func TestFact125MovedMessagesAreNew(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		grave := s.queue("grave", nil)
		work := s.work("work", "grave")
		id := s.put(work, "m", params{"MessageAttributes": params{"a": text("String", "x")}}).text("MessageId")
		s.one(work, params{"VisibilityTimeout": 0})
		s.gives(work)
		dead := s.one(grave, all, params{"VisibilityTimeout": 0})
		if dead.text("MessageId") != id || dead.object("Attributes").text("ApproximateReceiveCount") != "2" {
			t.Errorf("the dead letter is %v, want the id %s and the second receive", dead, id)
		}
		s.later(time.Hour)
		began := s.now().UnixMilli()
		s.move("grave")
		s.later(time.Second)
		s.moved("grave", "COMPLETED", 1)
		back := s.one(work, all)
		attributes := back.object("Attributes")
		if back.text("MessageId") == id || back.text("Body") != "m" || len(back.object("MessageAttributes")) != 1 {
			t.Errorf("the message that came back is %v, want another id than %s and the same content", back, id)
		}
		if got := attributes.text("ApproximateReceiveCount"); got != "1" {
			t.Errorf("its receive count is %s, want 1", got)
		}
		if got := attributes.text("SentTimestamp"); got < fmt.Sprint(began) {
			t.Errorf("it was sent at %s, want the time of the move, %d or later", got, began)
		}
		if got := attributes.text("DeadLetterQueueSourceArn"); got != "" {
			t.Errorf("it still says that it comes from %s", got)
		}
	})
}

func TestFact129RedriveAllowPolicy(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		grave := s.queue("grave", nil)
		a, b := s.queue("a", nil), s.queue("b", nil)
		names := func(url string) *answer { return s.set(url, attrs{"RedrivePolicy": redriveTo("grave", 3)}) }
		allow := func(policy string) *answer { return s.set(grave, attrs{"RedriveAllowPolicy": policy}) }
		names(a).ok()

		allow(`{"redrivePermission": "denyAll"}`).ok()
		names(a).refused(400, "InvalidParameterValue", "Value "+redriveTo("grave", 3)+" for parameter RedrivePolicy is invalid. "+
			"Reason: The redrive allow policy of the dead-letter queue does not allow this source queue.")
		names(b).refused(400, "InvalidParameterValue", "")
		s.create("c", attrs{"RedrivePolicy": redriveTo("grave", 3)}).refused(400, "InvalidParameterValue", "")

		only := `{"redrivePermission":"byQueue","sourceQueueArns":["` + arnOf("a") + `"]}`
		allow(only).ok()
		s.shows(grave, attrs{"RedriveAllowPolicy": only})
		names(a).ok()
		names(b).refused(400, "InvalidParameterValue", "")

		allow(`{"redrivePermission":"allowAll"}`).ok()
		s.shows(grave, attrs{"RedriveAllowPolicy": `{"redrivePermission":"allowAll"}`})
		names(b).ok()

		sources := func(n int) string {
			list := make([]string, n)
			for i := range list {
				list[i] = arnOf(fmt.Sprint("q", i))
			}
			text, _ := json.Marshal(list)
			return string(text)
		}
		allow(`{"redrivePermission":"byQueue","sourceQueueArns":` + sources(10) + `}`).ok()
		for _, wrong := range []string{
			`{"redrivePermission":"byQueue","sourceQueueArns":` + sources(11) + `}`,
			`{"redrivePermission":"byQueue","sourceQueueArns":[]}`,
			`{"redrivePermission":"byQueue"}`,
			`{"redrivePermission":"byQueue","sourceQueueArns":["a"]}`,
			`{"redrivePermission":"allowAll","sourceQueueArns":` + sources(1) + `}`,
			`{"redrivePermission":"perhaps"}`,
			`{}`,
			`[]`,
			`denyAll`,
		} {
			allow(wrong).refused(400, "InvalidParameterValue", "")
		}
	})
}
