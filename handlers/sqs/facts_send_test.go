package sqs_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dabba-mq/dabba/engine"
)

const (
	prefixed = "AWS.SimpleQueueService."
	badValue = "InvalidParameterValue"
)

func TestFact048EmptyBody(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		const message = "The request must contain the parameter MessageBody."
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": ""}).refused(400, "MissingParameter", message)
		s.do("SendMessage", params{"QueueUrl": url}).refused(400, "MissingParameter", message)
		answer := s.batch(url, []string{"a", ""}).ok()
		same(t, "successful", ids(answer.list("Successful")), []string{"m0"})
		same(t, "failed", ids(answer.list("Failed")), []string{"m1"})
	})
}

func TestFact049LegalCharacters(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for _, bad := range []string{"\x00", "a\x1f", "\x0b", "\ufffe", "ä\uffff", "日\x08本"} {
			s.do("SendMessage", params{"QueueUrl": url, "MessageBody": bad}).refused(400, "InvalidMessageContents", "")
			answer := s.batch(url, []string{bad, "fine"}).ok()
			same(t, "successful", ids(answer.list("Successful")), []string{"m1"})
			failed := answer.list("Failed")
			same(t, "failed", ids(failed), []string{"m0"})
			same(t, "code", failed[0].text("Code"), "InvalidMessageContents")
			s.gives(url, "fine")
		}
		const good = "\t\n\r ~\x7f\u0080\ud7ff\ue000\ufffd\U00010000\U0010ffff"
		s.put(url, good)
		s.gives(url, good)
	})
}

func TestFact050MessageSize(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		attributes := params{"MessageAttributes": params{"name": text("Number.int", "1234567890")}} // 4 + 10 + 10 bytes
		small := s.queue("small", attrs{"MaximumMessageSize": "1024"})
		s.put(small, strings.Repeat("x", 1024))
		s.put(small, strings.Repeat("ä", 512))
		s.put(small, strings.Repeat("x", 1000), attributes)
		const message = "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."
		s.do("SendMessage", params{"QueueUrl": small, "MessageBody": strings.Repeat("x", 1025)}).refused(400, badValue, message)
		s.do("SendMessage", params{"QueueUrl": small, "MessageBody": strings.Repeat("ä", 513)}).refused(400, badValue, message)
		s.do("SendMessage", with(params{"QueueUrl": small, "MessageBody": strings.Repeat("x", 1001)}, attributes)).
			refused(400, badValue, message)

		usual := s.queue("usual", nil)
		s.put(usual, strings.Repeat("x", 1<<20))
		s.do("SendMessage", params{"QueueUrl": usual, "MessageBody": strings.Repeat("x", 1<<20+1)}).
			refused(400, badValue, "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.")
	})
}

func TestFact050StringsCountTheirType(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("q", attrs{"MaximumMessageSize": "1024"})
	attributes := params{"MessageAttributes": params{"n": text("String", "123")}} // 1 + 6 + 3 bytes
	s.put(url, strings.Repeat("x", 1014), attributes)
	s.do("SendMessage", with(params{"QueueUrl": url, "MessageBody": strings.Repeat("x", 1015)}, attributes)).
		refused(400, badValue, "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.")
}

func TestFact051BatchSize(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		half := strings.Repeat("x", 1<<19)
		s.batch(url, []string{half, half + "x"}).refused(400, prefixed+"BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.")
		s.counts(url, 0, 0, 0)
		same(t, "sent", ids(s.batch(url, []string{half, half}).ok().list("Successful")), []string{"m0", "m1"})

		// The queue's limit is for each message.
		small := s.queue("small", attrs{"MaximumMessageSize": "1024"})
		same(t, "sent", len(s.batch(small, slicesOf(10, strings.Repeat("x", 1000))).ok().list("Successful")), 10)
	})
}

func slicesOf(n int, s string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestFact052BatchEntryTooLong(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", attrs{"MaximumMessageSize": "1024"})
		answer := s.batch(url, []string{"a", strings.Repeat("x", 1025), "c"}).ok()
		same(t, "successful", ids(answer.list("Successful")), []string{"m0", "m2"})
		failed := answer.list("Failed")
		same(t, "failures", len(failed), 1)
		failed[0].want(t, params{
			"Id": "m1", "SenderFault": true, "Code": badValue,
			"Message": "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
		})
		s.gives(url, "a", "c")
	})
}

// batches are the operations that take a batch, each with an entry that needs an id.
var batches = map[string]params{
	"SendMessageBatch":             {"MessageBody": "x"},
	"DeleteMessageBatch":           {"ReceiptHandle": "x"},
	"ChangeMessageVisibilityBatch": {"ReceiptHandle": "x", "VisibilityTimeout": 1},
}

// each makes a batch of an entry for each id.
func (s *server) each(operation, url string, ids ...string) *answer {
	s.t.Helper()
	entries := []params{}
	for _, id := range ids {
		entries = append(entries, with(batches[operation], params{"Id": id}))
	}
	return s.do(operation, params{"QueueUrl": url, "Entries": entries})
}

func TestFact053TooManyEntries(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		ids := strings.Split("abcdefghijklmnopqrst", "")
		for operation := range batches {
			s.each(operation, url, ids...).refused(400, prefixed+"TooManyEntriesInBatchRequest",
				"Maximum number of entries per request are 10. You have sent 20.")
			s.each(operation, url, ids[:10]...).ok()
		}
		s.counts(url, 10, 0, 0)
	})
}

func TestFact054BadEntryID(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		for operation := range batches {
			for _, id := range []string{"", "a b", "a.b", "ä", strings.Repeat("x", 81)} {
				s.each(operation, url, "fine", id).refused(400, prefixed+"InvalidBatchEntryId",
					"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
			}
			s.each(operation, url, "Az_0-9", strings.Repeat("x", 80)).ok()
		}
		s.counts(url, 2, 0, 0)
	})
}

func TestFact055RepeatedEntryID(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		for operation := range batches {
			s.each(operation, url, "id_1", "id_2", "id_3", "id_2").refused(400, prefixed+"BatchEntryIdsNotDistinct", "Id id_2 repeated.")
		}
		s.counts(url, 0, 0, 0)
	})
}

func TestFact056EmptyBatch(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		for operation := range batches {
			s.each(operation, url).refused(400, prefixed+"EmptyBatchRequest",
				"There should be at least one "+operation+"RequestEntry in the request.")
		}
	})
}

func TestFact057BatchAnswers(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		answer := s.batch(url, []string{"a", "b"}).ok()
		same(t, "answer without failures", keys(answer), []string{"Successful"})
		same(t, "entry", keys(answer.list("Successful")[0]), []string{"Id", "MD5OfMessageBody", "MessageId"})
		answer = s.batch(url, []string{"a"}, params{"MessageAttributes": params{"Foo": text("String", "Bar")}}).ok()
		same(t, "entry with attributes", keys(answer.list("Successful")[0]),
			[]string{"Id", "MD5OfMessageAttributes", "MD5OfMessageBody", "MessageId"})
		same(t, "answer of failures", keys(s.batch(url, []string{"\x00"}).ok()), []string{"Failed"})
		for _, operation := range []string{"DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			same(t, "failed "+operation, keys(s.each(operation, url, "a").ok()), []string{"Failed"})
		}
		same(t, "deleted", keys(s.do("DeleteMessageBatch", params{
			"QueueUrl": url, "Entries": []params{{"Id": "a", "ReceiptHandle": handle(s.one(url))}},
		}).ok()), []string{"Successful"})
		same(t, "changed", keys(s.do("ChangeMessageVisibilityBatch", params{
			"QueueUrl": url, "Entries": []params{{"Id": "a", "ReceiptHandle": handle(s.one(url)), "VisibilityTimeout": 9}},
		}).ok()), []string{"Successful"})

		fifo := s.queue("q.fifo", attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
		answer = s.batch(fifo, []string{"a"}, params{"MessageGroupId": "g"}).ok()
		same(t, "entry on FIFO", keys(answer.list("Successful")[0]), []string{"Id", "MD5OfMessageBody", "MessageId", "SequenceNumber"})
	})
}

func TestFact058DelayOutOfRange(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		answer := s.do("SendMessageBatch", params{"QueueUrl": url, "Entries": []params{
			{"Id": "a", "MessageBody": "a", "DelaySeconds": 1800},
			{"Id": "b", "MessageBody": "b"},
			{"Id": "c", "MessageBody": "c", "DelaySeconds": -1},
		}}).ok()
		same(t, "successful", ids(answer.list("Successful")), []string{"b"})
		same(t, "failed", ids(answer.list("Failed")), []string{"a", "c"})
		same(t, "code", answer.list("Failed")[0].text("Code"), badValue)
		for _, delay := range []int{-1, 901} {
			s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "a", "DelaySeconds": delay}).refused(400, badValue, "")
		}
		s.put(url, "d", params{"DelaySeconds": 900})
		s.counts(url, 1, 0, 1)
	})
}

func TestFact059DelayOfTheMessage(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", attrs{"DelaySeconds": "10"})
		s.put(url, "queue's")
		s.put(url, "none", params{"DelaySeconds": 0})
		s.put(url, "own", params{"DelaySeconds": 20})
		s.gives(url, "none")
		s.advance(10 * second)
		s.gives(url, "queue's")
		s.advance(10 * second)
		s.gives(url, "own")
	})
}

func TestFact060BodyMD5(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		const sum = "78e731027d8fd50ed642340b7c9a63b3"
		same(t, "MD5 of a send", s.put(url, "message").text("MD5OfMessageBody"), sum)
		same(t, "MD5 of a batch", s.batch(url, []string{"message"}).ok().list("Successful")[0].text("MD5OfMessageBody"), sum)
		same(t, "MD5 of a receive", s.one(url).text("MD5OfBody"), sum)
		same(t, "MD5 of UTF-8", s.put(url, "ä\r\n").text("MD5OfMessageBody"), "a3f1d9a0b1acb8c5cc5f1a8ae6d875db")
	})
}

func TestFact061AttributesMD5(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for sum, attributes := range map[string]params{
			"ae7155c6026991b6d54b11589678bf9c": {"Foo": text("String", "Bar")},
			"235c5c510d26fb653d073faed50ae77c": {"timestamp": text("Number", "1493147359900")},
			"4c360f3fdafd970e05fae2f149d997f5": {"Help.Me": text("String", "Me"), "Hello": text("String", "There"), "General": text("String", "Kenobi")},
		} {
			more := params{"MessageAttributes": attributes}
			same(t, "MD5 of a send", s.put(url, "x", more).text("MD5OfMessageAttributes"), sum)
			same(t, "MD5 of a batch", s.batch(url, []string{"x"}, more).ok().list("Successful")[0].text("MD5OfMessageAttributes"), sum)
			for range 2 {
				same(t, "MD5 of a receive", s.one(url, params{"MessageAttributeNames": []string{"All"}}).text("MD5OfMessageAttributes"), sum)
			}
		}
		same(t, "MD5 of none", s.put(url, "x").text("MD5OfMessageAttributes"), "")
	})
}

const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

func TestFact062SystemAttributesMD5(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		system := params{"MessageSystemAttributes": params{"AWSTraceHeader": text("String", trace)}}
		sent := s.put(url, "x", system)
		same(t, "MD5", sent.text("MD5OfMessageSystemAttributes"), "5ae4d5d7636402d80f4eb6d213245a88")
		same(t, "MD5 of no attributes", sent.text("MD5OfMessageAttributes"), "")
		sent = s.put(url, "x", system, params{"MessageAttributes": params{"Foo": text("String", "Bar")}})
		same(t, "MD5 beside attributes", sent.text("MD5OfMessageSystemAttributes"), "5ae4d5d7636402d80f4eb6d213245a88")
		same(t, "MD5 of attributes beside it", sent.text("MD5OfMessageAttributes"), "ae7155c6026991b6d54b11589678bf9c")
		same(t, "MD5 of none", s.put(url, "x").text("MD5OfMessageSystemAttributes"), "")
		for _, got := range s.receive(url, all) {
			if _, shown := got.object("MessageAttributes")["AWS.TraceHeader"]; shown {
				t.Errorf("the trace is shown among the sender's attributes: %v", got)
			}
		}
		// It does not count in the size.
		small := s.queue("small", attrs{"MaximumMessageSize": "1024"})
		s.put(small, strings.Repeat("x", 1024), system)
		same(t, "trace", s.one(small, all).object("Attributes").text("AWSTraceHeader"), trace)
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageSystemAttributes": params{
			"AWSTraceHeader": text("String", strings.Repeat("x", 1025)),
		}}).refused(400, badValue, "")
		for name, value := range map[string]params{
			"AWSTraceHeader": text("Number", "1"), "Other": text("String", "x"), "SenderId": text("String", "x"),
		} {
			s.do("SendMessage", params{
				"QueueUrl": url, "MessageBody": "x", "MessageSystemAttributes": params{name: value},
			}).refused(400, badValue, "")
		}
	})
}

func TestFact063TraceHeader(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("q", nil)
	for _, body := range []string{
		`{"QueueUrl":"q","MessageBody":"header"}`,
		`{"QueueUrl":"q","MessageBody":"own","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=own"}}}`,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		r.Header.Set("X-Amzn-Trace-Id", trace)
		s.send(r).ok()
	}
	var got []string
	for _, m := range s.receive(url, all) {
		got = append(got, m.object("Attributes").text("AWSTraceHeader"))
	}
	same(t, "traces", got, []string{trace, "Root=own"})
}

func TestFact064AttributeRules(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		send := func(name string, value params) *answer {
			return s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageAttributes": params{name: value}})
		}
		for _, name := range []string{
			strings.Repeat("x", 257), "aws.x", "AWS.x", "Aws.x", "amazon.x", "AMAZON.x", "AWS.TraceHeader",
			".x", "x.", "a..b", "a!", `a"`, "a§", "a(", "a?", "a b", "日本",
		} {
			send(name, text("String", "x")).refused(400, badValue, "")
		}
		for _, dataType := range []string{"", "string", "Strin", "Stringy", "Text", "String.", "Number." + strings.Repeat("x", 250)} {
			send("a", text(dataType, "1")).refused(400, badValue, "")
		}
		send("a", text("String", "a\x00")).refused(400, badValue, "")
		send("a", text("Number", "twelve")).refused(400, badValue, "")
		send("a", params{"DataType": "Binary", "StringValue": "x"}).refused(400, badValue, "")
		send("a", params{"DataType": "String", "BinaryValue": []byte("x")}).refused(400, badValue, "")
		s.counts(url, 0, 0, 0)

		for _, name := range []string{"a", strings.Repeat("x", 256), "a.b-c_D9", "awsx", "amazonas"} {
			send(name, text("String", "x")).ok()
		}
		for _, dataType := range []string{"String.mine", "Number.float", "Number"} {
			send("a", text(dataType, "-1.5e3")).ok()
		}
		for _, dataType := range []string{"Binary", "Binary.gif"} {
			send("a", params{"DataType": dataType, "BinaryValue": []byte{0, 255}}).ok()
		}

		many := params{}
		for name := range strings.SplitSeq("abcdefghijk", "") {
			many[name] = text("String", "x")
		}
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageAttributes": many}).refused(400, badValue, "")
		delete(many, "k")
		s.put(url, "x", params{"MessageAttributes": many})
	})
}

func TestFact065AccentsInNames(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for _, name := range []string{"attr.1øßä", "über_encodings"} {
			s.put(url, "x", params{"MessageAttributes": params{name: text("String", "é")}})
			same(t, "attributes", s.one(url, all).object("MessageAttributes"), members{name: params{"DataType": "String", "StringValue": "é"}})
		}
	})
}

func TestFact066EmptyAttribute(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		for dataType, message := range map[string]string{
			"String":     "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
			"String.own": "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
			"Number":     "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'Number'.",
			"Binary":     "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'Binary'.",
		} {
			s.do("SendMessage", params{
				"QueueUrl": url, "MessageBody": "x", "MessageAttributes": params{"ErrorDetails": text(dataType, "")},
			}).refused(400, badValue, message)
		}
	})
}

func TestFact067WrongAttributeType(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		s.do("SendMessage", params{
			"QueueUrl": url, "MessageBody": "x", "MessageAttributes": params{"timestamp": text("InvalidType", "1")},
		}).refused(400, badValue, "The message attribute 'timestamp' has an invalid message attribute type, "+
			"the set of supported type prefixes is Binary, Number, and String.")
	})
}

func TestFact068SequenceNumber(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		fifo := s.queue("q.fifo", attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
		last := ""
		for _, body := range []string{"a", "b", "c"} {
			n := s.put(fifo, body, params{"MessageGroupId": "g"}).text("SequenceNumber")
			if !regexp.MustCompile(`^[0-9]{20}$`).MatchString(n) || n <= last {
				t.Errorf("sequence number %q after %q, want 20 digits that rise", n, last)
			}
			last = n
		}
		url := s.queue("q", nil)
		same(t, "answer of a standard queue", keys(s.put(url, "a")), []string{"MD5OfMessageBody", "MessageId"})
		if _, shown := s.one(url, all).object("Attributes")["SequenceNumber"]; shown {
			t.Error("a message of a standard queue has a sequence number")
		}
	})
}

func TestFact069GroupOnStandard(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageGroupId": "a b"}).refused(400, badValue, "")
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x", "MessageGroupId": ""}).refused(400, badValue, "")
		ref := engine.Ref{Tenant: "default", Name: "q"}
		if config, err := s.engine.Config(t.Context(), ref); err != nil || config.Fair {
			t.Fatalf("before a message with a group: fair = %v, error %v", config.Fair, err)
		}
		s.put(url, "x", params{"MessageGroupId": "tenant-1"})
		s.put(url, "y")
		if config, err := s.engine.Config(t.Context(), ref); err != nil || !config.Fair {
			t.Fatalf("after a message with a group: fair = %v, error %v", config.Fair, err)
		}
		groups := map[string]string{}
		for _, m := range s.receive(url, all) {
			groups[m.text("Body")] = m.object("Attributes").text("MessageGroupId")
		}
		same(t, "groups", groups, map[string]string{"x": "tenant-1", "y": ""})
	})
}

func TestPrioritiesStayWhenAGroupIsNamed(t *testing.T) {
	t.Parallel()
	s := start(t)
	ref := engine.Ref{Tenant: "default", Name: "q"}
	config := engine.DefaultConfig()
	config.Priorities = 10
	if _, _, err := s.engine.PutQueue(t.Context(), ref, config, engine.Condition{}); err != nil {
		t.Fatal(err)
	}
	s.put("q", "x", params{"MessageGroupId": "g"})
	same(t, "group", s.one("q", all).object("Attributes").text("MessageGroupId"), "g")
	if now, err := s.engine.Config(t.Context(), ref); err != nil || now.Fair || now.Priorities != 10 {
		t.Errorf("the queue is now %+v, error %v; want it as it was", now, err)
	}
}

func TestOnlyTheFirstGroupChangesTheQueue(t *testing.T) {
	t.Parallel()
	s := start(t)
	url := s.queue("q", nil)
	ref := engine.Ref{Tenant: "default", Name: "q"}
	var sends sync.WaitGroup
	for i := range 16 {
		sends.Go(func() { s.put(url, "x", params{"MessageGroupId": strconv.Itoa(i)}) })
	}
	sends.Wait()
	fair, err := s.engine.Queue(t.Context(), ref)
	if err != nil || !fair.Config.Fair {
		t.Fatalf("queue = %+v, error %v; want it fair", fair, err)
	}
	s.put(url, "x", params{"MessageGroupId": "another"})
	if now, err := s.engine.Queue(t.Context(), ref); err != nil || now.ETag != fair.ETag {
		t.Errorf("ETag = %s after another group, error %v; want %s as before", now.ETag, err, fair.ETag)
	}
	same(t, "received", len(s.receive(url, ten)), 10)
	s.counts(url, 7, 10, 0)
}
