package sqs_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const second = time.Second

func TestFact070MaxNumberOfMessages(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for _, n := range []string{"-1", "0", "11"} {
			s.do("ReceiveMessage", params{"QueueUrl": url, "MaxNumberOfMessages": number(n)}).refused(400, badValue,
				"Value "+n+" for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")
		}
		s.batch(url, slicesOf(10, "x")).ok()
		s.batch(url, slicesOf(2, "x")).ok()
		same(t, "without the parameter", len(s.receive(url)), 1)
		same(t, "of 10", len(s.receive(url, ten)), 10)
	})
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func TestFact071WaitTimeSeconds(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		for _, n := range []string{"-1", "21"} {
			s.do("ReceiveMessage", params{"QueueUrl": url, "WaitTimeSeconds": number(n)}).refused(400, badValue,
				"Value "+n+" for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.")
		}
		s.put(url, "x")
		s.one(url, params{"WaitTimeSeconds": 20})
	})
}

// polled is what a receive gave, and after how long.
type polled struct {
	bodies []string
	after  time.Duration
}

// poll receives in the background of a bubble. It is waiting when poll returns, unless it is done.
func (s *server) poll(url string, more ...params) <-chan polled {
	done := make(chan polled, 1)
	begun := time.Now()
	go func() {
		got := bodies(s.receive(url, more...))
		done <- polled{got, time.Since(begun).Truncate(second)}
	}()
	synctest.Wait()
	return done
}

func (p polled) want(t *testing.T, after time.Duration, bodies ...string) {
	t.Helper()
	same(t, "bodies polled", p.bodies, bodies)
	same(t, "time of the poll", p.after, after)
}

func TestFact072LongPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		url := s.queue("q", attrs{"ReceiveMessageWaitTimeSeconds": "20"})
		(<-s.poll(url)).want(t, 20*second)
		(<-s.poll(url, params{"WaitTimeSeconds": 0})).want(t, 0)
		(<-s.poll(url, params{"WaitTimeSeconds": 3})).want(t, 3*second)

		waiting := s.poll(url, ten)
		s.put(url, "sent")
		(<-waiting).want(t, 0, "sent")

		s.put(url, "delayed", params{"DelaySeconds": 5})
		(<-s.poll(url, ten)).want(t, 5*second, "delayed")
	})
}

func TestFact072VisibilityEndsDuringALongPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		url := s.queue("q", nil)
		s.put(url, "hidden")
		s.one(url, params{"VisibilityTimeout": 7})
		(<-s.poll(url, ten, params{"WaitTimeSeconds": 20})).want(t, 7*second, "hidden")
	})
}

func TestFact073MembersOfMessages(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", attrs{"VisibilityTimeout": "0"})
		s.put(url, "x", params{"MessageAttributes": params{"Foo": text("String", "Bar")}})
		plain := []string{"Body", "MD5OfBody", "MessageId", "ReceiptHandle"}
		same(t, "nothing asked for", keys(s.one(url)), plain)
		same(t, "system attributes", keys(s.one(url, params{"AttributeNames": []string{"All"}})),
			[]string{"Attributes", "Body", "MD5OfBody", "MessageId", "ReceiptHandle"})
		same(t, "the sender's attributes", keys(s.one(url, params{"MessageAttributeNames": []string{"All"}})),
			[]string{"Body", "MD5OfBody", "MD5OfMessageAttributes", "MessageAttributes", "MessageId", "ReceiptHandle"})
		same(t, "attributes it does not have", keys(s.one(url, params{"MessageAttributeNames": []string{"Other"}})), plain)
		same(t, "system attributes it does not have", keys(s.one(url, params{"MessageSystemAttributeNames": []string{"SequenceNumber"}})), plain)
	})
}

// kenobi are attributes with well-known sums.
var kenobi = params{"MessageAttributes": params{
	"Help.Me": text("String", "Me"), "Hello": text("String", "There"), "General": text("String", "Kenobi"),
}}

func TestFact074MD5OfTheSubset(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", attrs{"VisibilityTimeout": "0"})
		s.put(url, "x", kenobi)
		for sum, names := range map[string][]string{
			"4c360f3fdafd970e05fae2f149d997f5": {"All"},
			"fca026605781cb4126a1e9044df24232": {"Hello", "General"},
			"a311262e065454b75da111d535b8dacd": {"Hello"},
		} {
			same(t, "MD5 of "+strings.Join(names, ","), s.one(url, params{"MessageAttributeNames": names}).text("MD5OfMessageAttributes"), sum)
		}
	})
}

func TestFact075AttributeFilters(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", attrs{"VisibilityTimeout": "0"})
		s.put(url, "x", kenobi)
		for _, tc := range []struct{ names, want string }{
			{"All", "General Hello Help.Me"},
			{"*", "General Hello Help.Me"},
			{".*", "General Hello Help.Me"},
			{"Hello", "Hello"},
			{"Hello Help.Me", "Hello Help.Me"},
			{"Hel.*", "Hello Help.Me"},
			{"Help.*", "Help.Me"},
			{"Gen.* Hello", "General Hello"},
			{"Hel", ""},
			{"hello", ""},
			{"Unknown Hello", "Hello"},
			{"AWS.", ""},
			{"..foo", ""},
			{"amazon.*", ""},
		} {
			got := s.one(url, params{"MessageAttributeNames": strings.Fields(tc.names)}).object("MessageAttributes")
			same(t, "attributes for "+tc.names, strings.Join(keys(got), " "), tc.want)
		}
	})
}

func TestFact076SystemAttributes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", attrs{"VisibilityTimeout": "0"})
		sentAt := s.now()
		s.put(url, "x")
		s.advance(10 * second)
		firstAt := s.now()
		first := s.one(url, all).object("Attributes")
		same(t, "attributes", keys(first), []string{
			"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp",
		})
		same(t, "count", first.text("ApproximateReceiveCount"), "1")
		same(t, "sender", first.text("SenderId"), "000000000000")
		isAt(t, "sent", first.text("SentTimestamp"), sentAt)
		isAt(t, "first receive", first.text("ApproximateFirstReceiveTimestamp"), firstAt)

		s.advance(10 * second)
		later := s.one(url, all).object("Attributes")
		same(t, "count", later.text("ApproximateReceiveCount"), "2")
		same(t, "sent", later.text("SentTimestamp"), first.text("SentTimestamp"))
		isAt(t, "first receive, seen later", later.text("ApproximateFirstReceiveTimestamp"), firstAt)

		union := s.one(url, params{
			"AttributeNames":              []string{"SenderId", "MessageDeduplicationId", "VisibilityTimeout"},
			"MessageSystemAttributeNames": []string{"SentTimestamp", "SequenceNumber"},
		}).object("Attributes")
		same(t, "union of both lists", keys(union), []string{"SenderId", "SentTimestamp"})

		fifo := s.queue("q.fifo", attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
		sent := s.put(fifo, "x", params{"MessageGroupId": "g"}, params{
			"MessageSystemAttributes": params{"AWSTraceHeader": text("String", trace)},
		})
		s.put(fifo, "y", params{"MessageGroupId": "g", "MessageDeduplicationId": "own"})
		messages := s.receive(fifo, all)
		got := messages[0].object("Attributes")
		same(t, "attributes on FIFO", keys(got), []string{
			"AWSTraceHeader", "ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "MessageDeduplicationId",
			"MessageGroupId", "SenderId", "SentTimestamp", "SequenceNumber",
		})
		same(t, "group", got.text("MessageGroupId"), "g")
		same(t, "sequence", got.text("SequenceNumber"), sent.text("SequenceNumber"))
		same(t, "trace", got.text("AWSTraceHeader"), trace)
		same(t, "deduplication id of the content", got.text("MessageDeduplicationId"),
			"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")
		same(t, "deduplication id", messages[1].object("Attributes").text("MessageDeduplicationId"), "own")
	})
}

// isAt stops the test unless the text is the time in milliseconds, give or take a second that passed meanwhile.
func isAt(t *testing.T, what, got string, want time.Time) {
	t.Helper()
	ms, err := strconv.ParseInt(got, 10, 64)
	if err != nil || time.UnixMilli(ms).Sub(want).Abs() > second {
		t.Fatalf("%s at %q, want about %d (milliseconds)", what, got, want.UnixMilli())
	}
}

func TestFact077VisibilityTimeoutZero(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.put(url, "x")
		handles := map[string]bool{}
		for i := range 3 {
			got := s.one(url, all, params{"VisibilityTimeout": 0})
			same(t, "count", got.object("Attributes").text("ApproximateReceiveCount"), strconv.Itoa(i+1))
			handles[handle(got)] = true
		}
		same(t, "different handles", len(handles), 3)
		s.counts(url, 1, 0, 0)

		zero := s.queue("zero", attrs{"VisibilityTimeout": "0"})
		s.put(zero, "x")
		s.one(zero)
		s.one(zero)
		s.one(zero, params{"VisibilityTimeout": 9})
		same(t, "hidden", len(s.receive(zero)), 0)
		for _, n := range []int{-1, 43201} {
			s.do("ReceiveMessage", params{"QueueUrl": url, "VisibilityTimeout": n}).refused(400, badValue, "")
		}
	})
}

func TestFact078OldHandles(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.put(url, "x")
		old := s.one(url)
		s.advance(30 * second)
		s.remove(url, handle(old)).ok()
		s.counts(url, 0, 0, 0)

		s.put(url, "y")
		old = s.one(url)
		s.advance(30 * second)
		newer := s.one(url)
		if handle(old) == handle(newer) {
			t.Fatalf("two receives gave the same handle %s", handle(old))
		}
		s.remove(url, handle(old)).ok()
		s.counts(url, 0, 0, 0)
		s.remove(url, handle(newer)).ok()
	})
}

func TestFact079ExpiredHandleOnFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q.fifo", attrs{"FifoQueue": "true"})
		s.grouped(url, "g", "x")
		old := handle(s.one(url))
		s.advance(30 * second)
		expired := "Value " + old + " for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
		s.remove(url, old).refused(400, badValue, expired)
		kept := handle(s.one(url))
		s.remove(url, old).refused(400, badValue, expired)
		s.hide(url, kept, 60).ok()
		s.advance(45 * second)
		s.remove(url, kept).ok()
		s.counts(url, 0, 0, 0)
	})
}

func TestFact080DeletingAgain(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		const garbage = `The input receipt handle "garbage" is not a valid receipt handle.`
		for _, url := range []string{s.queue("q", nil), s.queue("q.fifo", attrs{"FifoQueue": "true"})} {
			if strings.HasSuffix(url, ".fifo") {
				s.grouped(url, "g", "x")
			} else {
				s.put(url, "x")
			}
			h := handle(s.one(url))
			for range 3 {
				s.remove(url, h).ok()
			}
			s.remove(url, "garbage").refused(400, "ReceiptHandleIsInvalid", garbage)
			s.hide(url, "garbage", 1).refused(400, "ReceiptHandleIsInvalid", garbage)
			s.remove(url, "").refused(400, "MissingParameter", "The request must contain the parameter ReceiptHandle.")
		}
		// What is missing first is the queue.
		for _, in := range []params{{"ReceiptHandle": "garbage"}, {"ReceiptHandle": ""}} {
			in["QueueUrl"], in["VisibilityTimeout"] = "none", 1
			s.do("DeleteMessage", in).refused(400, noQueue, "")
			s.do("ChangeMessageVisibility", in).refused(400, noQueue, "")
		}
		for operation := range batches {
			s.each(operation, "none").refused(400, noQueue, "")
		}
	})
}

func TestFact081ChangingVisibility(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.put(url, "gone")
		h := handle(s.one(url))
		s.remove(url, h).ok()
		s.hide(url, h, 1).refused(400, badValue, "Value "+h+
			" for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.")

		s.put(url, "x")
		old := handle(s.one(url))
		s.advance(30 * second)
		s.hide(url, old, 60).ok() // though it was visible again
		same(t, "hidden again", len(s.receive(url)), 0)
		s.advance(60 * second)
		s.one(url)
		s.hide(url, old, 0).ok() // though there is a newer handle
		s.one(url)
		same(t, "visible once", len(s.receive(url)), 0)
		s.advance(30 * second)
		s.one(url)
		s.do("ChangeMessageVisibility", params{"QueueUrl": url, "ReceiptHandle": old}).
			refused(400, "MissingParameter", "The request must contain the parameter VisibilityTimeout.")
	})
}

func TestFact082IDs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q.fifo", attrs{"FifoQueue": "true"})
		send := func(group, id string) *answer {
			return s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageGroupId": group, "MessageDeduplicationId": id})
		}
		for _, bad := range []string{"group 123", "", strings.Repeat("x", 129), "ä", "a\n"} {
			reason := " is invalid. Reason: %[1]s can only include alphanumeric and punctuation characters. 1 to 128 in length."
			words := "Value " + bad + " for parameter %[1]s" + reason
			send(bad, "id").refused(400, badValue, fmt.Sprintf(words, "MessageGroupId"))
			send("group", bad).refused(400, badValue, fmt.Sprintf(words, "MessageDeduplicationId"))
		}
		const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
		send(punctuation, "aZ09"+punctuation).ok()
		send(strings.Repeat("x", 128), strings.Repeat("y", 128)).ok()
		got := s.one(url, all, params{"MaxNumberOfMessages": 1}).object("Attributes")
		same(t, "group", got.text("MessageGroupId"), punctuation)
		same(t, "deduplication id", got.text("MessageDeduplicationId"), "aZ09"+punctuation)

		standard := s.queue("q", nil)
		s.do("SendMessage", params{"QueueUrl": standard, "MessageBody": "x", "MessageDeduplicationId": "id"}).refused(400, badValue, "")
	})
}

func TestFact083VisibilityTooLong(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		for _, url := range []string{s.queue("q", nil), s.queue("q.fifo", attrs{"FifoQueue": "true"})} {
			if strings.HasSuffix(url, ".fifo") {
				s.grouped(url, "g", "x")
			} else {
				s.put(url, "x")
			}
			h := handle(s.one(url))
			s.hide(url, h, 43201).refused(400, badValue, "")
			s.hide(url, h, -1).refused(400, badValue, "")
			s.hide(url, h, 40000).ok()
			s.advance(time.Hour)
			s.hide(url, h, 43200).refused(400, badValue, "")
			s.hide(url, h, 43200-3600-60).ok()
		}
	})
}

func TestFact084DeleteBatch(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.batch(url, []string{"a", "b"}).ok()
		got := s.gives(url, "a", "b")
		answer := s.do("DeleteMessageBatch", params{"QueueUrl": url, "Entries": []params{
			{"Id": "first", "ReceiptHandle": handle(got[0])},
			{"Id": "bad", "ReceiptHandle": "x"},
			{"Id": "second", "ReceiptHandle": handle(got[1])},
			{"Id": "again", "ReceiptHandle": handle(got[1])},
		}}).ok()
		same(t, "successful", ids(answer.list("Successful")), []string{"first", "second", "again"})
		same(t, "failures", len(answer.list("Failed")), 1)
		answer.list("Failed")[0].want(t, params{
			"Id": "bad", "SenderFault": true, "Code": "ReceiptHandleIsInvalid",
			"Message": `The input receipt handle "x" is not a valid receipt handle.`,
		})
		s.counts(url, 0, 0, 0)
	})
}

func TestChangeVisibilityBatchJudgesEachEntry(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.batch(url, []string{"a", "b", "c"}).ok()
		got := s.gives(url, "a", "b", "c")
		answer := s.do("ChangeMessageVisibilityBatch", params{"QueueUrl": url, "Entries": []params{
			{"Id": "ready", "ReceiptHandle": handle(got[0]), "VisibilityTimeout": 0},
			{"Id": "bad", "ReceiptHandle": "x", "VisibilityTimeout": 0},
			{"Id": "long", "ReceiptHandle": handle(got[1]), "VisibilityTimeout": 43201},
			{"Id": "none", "ReceiptHandle": handle(got[1])},
			{"Id": "later", "ReceiptHandle": handle(got[2]), "VisibilityTimeout": 60},
		}}).ok()
		same(t, "successful", ids(answer.list("Successful")), []string{"ready", "later"})
		codes := map[string]string{}
		for _, f := range answer.list("Failed") {
			codes[f.text("Id")] = f.text("Code")
		}
		same(t, "failed", codes, map[string]string{"bad": "ReceiptHandleIsInvalid", "long": badValue, "none": "MissingParameter"})
		s.gives(url, "a")
		s.advance(30 * second)
		s.gives(url, "a", "b")
		s.advance(30 * second)
		s.gives(url, "a", "b", "c")
	})
}

func TestFact085Counters(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		s.batch(url, []string{"a", "b", "c"}).ok()
		s.put(url, "d", params{"DelaySeconds": 20})
		s.counts(url, 3, 0, 1)
		s.receive(url, params{"MaxNumberOfMessages": 2})
		s.counts(url, 1, 2, 1)
		s.advance(20 * second)
		s.counts(url, 2, 2, 0)
		s.advance(10 * second)
		s.counts(url, 4, 0, 0)

		fifo := s.queue("q.fifo", attrs{"FifoQueue": "true"})
		s.grouped(fifo, "g", "a", "b", "c")
		s.one(fifo)
		s.counts(fifo, 2, 1, 0)
		s.advance(30 * second)
		s.counts(fifo, 3, 0, 0)
	})
}

func TestFact086Retention(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", attrs{"MessageRetentionPeriod": "60"})
		s.put(url, "ready")
		s.put(url, "in flight")
		h := handle(s.one(url, params{"VisibilityTimeout": 3600}))
		s.advance(61 * second)
		same(t, "received after its retention", bodies(s.receive(url, ten)), []string(nil))
		s.counts(url, 0, 0, 0)
		s.remove(url, h).ok()
	})
}

func TestFact087Order(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for i := range 5 {
			s.put(url, fmt.Sprintf("message-%d", i))
		}
		s.gives(url, "message-0", "message-1", "message-2", "message-3", "message-4")
		s.put(url, "later")
		s.advance(30 * second)
		same(t, "redelivered before what was sent later", bodies(s.receive(url, ten)),
			[]string{"message-0", "message-1", "message-2", "message-3", "message-4", "later"})
	})
}

func TestMessageIDsAreOfTheUsualForm(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("q", nil)
	id := s.put(url, "x").text("MessageId")
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("message id %q, want that of a UUID", id)
	}
	same(t, "id received", s.one(url).text("MessageId"), id)
}
