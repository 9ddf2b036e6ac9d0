package sqs_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

func TestFact106MaxReceiveCount(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for name, receive := range map[string]func(url string){
			"leased": func(url string) {
				s.one(url)
				s.advance(30 * second)
			},
			"given back": func(url string) { s.hide(url, handle(s.one(url)), 0).ok() },
			"not hidden": func(url string) { s.one(url, params{"VisibilityTimeout": 0}) },
		} {
			id := strings.ReplaceAll(name, " ", "-")
			dead := s.queue("dead"+id, nil)
			url := s.queue("q"+id, attrs{"RedrivePolicy": redriveTo("dead"+id, 2)})
			s.put(url, "x")
			receive(url)
			receive(url)
			s.counts(dead, 0, 0, 0)
			same(t, name+": third receive", len(s.receive(url, ten)), 0)
			s.counts(url, 0, 0, 0)
			s.gives(dead, "x")
		}
	})
}

func TestFact107DeadLetters(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		dead := s.queue("dead", nil)
		url := s.queue("q", attrs{"RedrivePolicy": redriveTo("dead", 1)})
		sent := s.put(url, "x", kenobi, params{"MessageSystemAttributes": params{"AWSTraceHeader": text("String", trace)}})
		before := s.one(url, all)
		s.advance(30 * second)
		same(t, "received once more", len(s.receive(url)), 0)

		got := s.one(dead, all)
		same(t, "id", got.text("MessageId"), sent.text("MessageId"))
		same(t, "body", got.text("Body"), "x")
		same(t, "attributes", got.object("MessageAttributes"), before.object("MessageAttributes"))
		was, is := before.object("Attributes"), got.object("Attributes")
		same(t, "trace", is.text("AWSTraceHeader"), trace)
		same(t, "sent", is.text("SentTimestamp"), was.text("SentTimestamp"))
		same(t, "count", is.text("ApproximateReceiveCount"), "2")
		same(t, "source", is.text("DeadLetterQueueSourceArn"), "arn:aws:sqs:us-east-1:000000000000:q")
		same(t, "source before", was.text("DeadLetterQueueSourceArn"), "")
		s.remove(url, handle(before)).ok() // which is too late to matter
		s.counts(dead, 0, 1, 0)
	})
}

func TestFact108DeadLettersOnFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		dead := s.fifo("dead", nil)
		url := s.fifo("q", attrs{"RedrivePolicy": redriveTo("dead.fifo", 1)})
		sent := s.put(url, "x", in("g"))
		s.one(url)
		s.put(url, "next", in("g"))
		s.advance(30 * second)
		s.gives(url, "next") // what moved holds up nothing
		got := s.one(dead, all)
		same(t, "id", got.text("MessageId"), sent.text("MessageId"))
		same(t, "body", got.text("Body"), "x")
		same(t, "group", got.object("Attributes").text("MessageGroupId"), "g")
		s.put(url, "later", in("other"))
		s.gives(url, "later")
	})
}

func TestFact121ReceiveNeverFills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		url := s.fifo("q", nil)
		waiting := s.poll(url, ten, params{"WaitTimeSeconds": 20})
		s.grouped(url, "g", "a")
		(<-waiting).want(t, 0, "a")
		s.grouped(url, "g", "b")
		(<-s.poll(url, ten, params{"WaitTimeSeconds": 5})).want(t, 5*second)
	})
}

func TestFact122PrefixRule(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g", "a", "b", "c")
		got := s.gives(url, "a", "b", "c")
		s.hide(url, handle(got[0]), 60).ok()
		s.advance(30 * second)
		same(t, "behind the head", len(s.receive(url, ten)), 0)
		s.remove(url, handle(got[0])).ok()
		s.gives(url, "b", "c")
	})
}

func TestFact123LazyDeadLetters(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for name, sends := range map[string]func(url string){
			"q":      func(url string) { s.put(url, "x") },
			"q.fifo": func(url string) { s.grouped(url, "g", "x") },
		} {
			attributes := attrs{"RedrivePolicy": redriveTo("dead-"+name, 3)}
			if name == "q.fifo" {
				attributes["FifoQueue"] = "true"
				s.queue("dead-"+name, attrs{"FifoQueue": "true"})
			} else {
				s.queue("dead-"+name, nil)
			}
			url := s.queue(name, attributes)
			sends(url)
			for range 3 {
				s.one(url)
				s.advance(30 * second)
			}
			s.counts(url, 1, 0, 0)
			s.counts("dead-"+name, 0, 0, 0)
			same(t, "fourth receive", len(s.receive(url)), 0)
			s.counts(url, 0, 0, 0)
			s.counts("dead-"+name, 1, 0, 0)
		}
	})
}

func TestFact126DeduplicationOfDeadLetters(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		dead := s.fifo("dead", nil)
		url := s.fifo("q", attrs{"RedrivePolicy": redriveTo("dead.fifo", 1), "DeduplicationScope": "messageGroup"})
		s.put(url, "a", in("g1"), named("id"))
		s.put(url, "b", in("g2"), named("id"))
		s.gives(url, "a", "b")
		s.advance(30 * second)
		same(t, "received once more", len(s.receive(url, ten)), 0)
		got := s.receive(dead, all)
		same(t, "dead letters", bodies(got), []string{"a", "b"})
		for _, m := range got {
			same(t, "deduplication id", m.object("Attributes").text("MessageDeduplicationId"), m.text("MessageId"))
		}
	})
}

func TestFact127Attempts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for name, change := range map[string]func(url, handle string){
			"deleted": func(url, handle string) { s.remove(url, handle).ok() },
			"changed": func(url, handle string) { s.hide(url, handle, 20).ok() },
		} {
			url := s.fifo(name, nil)
			s.grouped(url, "g1", "a", "b")
			s.grouped(url, "g2", "c")
			attempt := with(params{"MaxNumberOfMessages": 2, "ReceiveRequestAttemptId": "try-1"})
			first := s.receive(url, attempt)
			same(t, "first", bodies(first), []string{"a", "b"})
			s.advance(20 * second)
			repeat := s.receive(url, attempt, params{"AttributeNames": []string{"All"}})
			same(t, "again", bodies(repeat), []string{"a", "b"})
			for i := range first {
				same(t, "handle", handle(repeat[i]), handle(first[i]))
				same(t, "count", repeat[i].object("Attributes").text("ApproximateReceiveCount"), "1")
				isAt(t, "first receive", repeat[i].object("Attributes").text("ApproximateFirstReceiveTimestamp"), s.now().Add(-20*second))
			}
			s.advance(20 * second) // which is less than 30 after the repeat
			s.counts(url, 1, 2, 0)
			change(url, handle(first[1]))
			for range 2 {
				s.do("ReceiveMessage", with(attempt, params{"QueueUrl": url})).refused(400, badValue, "Value try-1 for parameter "+
					"ReceiveRequestAttemptId is invalid. Reason: A message of this attempt was deleted, or its visibility was changed, "+
					"so that it is no longer retryable; receive with another id.")
			}
			same(t, name+": another attempt", bodies(s.receive(url, ten, params{"ReceiveRequestAttemptId": "try-2"})), []string{"c"})
		}

		url := s.fifo("q", nil)
		s.do("ReceiveMessage", params{"QueueUrl": url, "ReceiveRequestAttemptId": "a b"}).refused(400, badValue,
			"Value a b for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only include "+
				"alphanumeric and punctuation characters. 1 to 128 in length.")
	})
}

func TestFact127AttemptsLastFiveMinutes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g1", "a")
		s.grouped(url, "g2", "b")
		attempt := params{"ReceiveRequestAttemptId": "try-1", "VisibilityTimeout": 3600}
		first := s.one(url, attempt)
		s.advance(5*time.Minute - second)
		same(t, "within five minutes", handle(s.one(url, attempt)), handle(first))
		s.advance(2 * second)
		same(t, "after five minutes", bodies(s.receive(url, attempt)), []string{"b"})
	})
}

func TestFact128VisibilityInAll(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.queue("q", nil)
		s.put(url, "x")
		h := handle(s.one(url, params{"VisibilityTimeout": 43200}))
		s.advance(6 * time.Hour)
		s.hide(url, h, 6*3600+60).refused(400, badValue,
			"Value 21660 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].")
		s.counts(url, 0, 1, 0)
		s.advance(6*time.Hour - time.Minute)
		s.counts(url, 0, 1, 0)
		s.advance(time.Minute)
		s.counts(url, 1, 0, 0)
		// From the next receive it counts anew.
		s.hide(url, handle(s.one(url)), 43200-60).ok()
	})
}

func TestFact128InFlight(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for _, url := range []string{s.queue("q", nil), s.fifo("q", nil)} {
			name := url[len(url)-len("q"):]
			if name != "q" {
				name = "q.fifo"
			}
			_, err := s.engine.ChangeQueue(t.Context(), engine.Ref{Tenant: "default", Name: name}, engine.Condition{},
				func(c engine.QueueConfig) (engine.QueueConfig, error) {
					if c.Limits.MaxInFlight != 120_000 {
						t.Errorf("%s: at most %d messages in flight, want 120000", name, c.Limits.MaxInFlight)
					}
					c.Limits.MaxInFlight = 2
					return c, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "with nothing in it", len(s.receive(url)), 0)
			for _, group := range []string{"a", "b", "c"} {
				s.put(url, group, in(group))
			}
			two := s.receive(url, ten)
			same(t, "in flight", len(two), 2)
			receive := func() *answer { return s.do("ReceiveMessage", params{"QueueUrl": url}) }
			if name == "q" {
				receive().refused(403, "OverLimit", "")
			} else {
				same(t, "answer of a FIFO queue", keys(receive().ok()), []string(nil))
			}
			s.remove(url, handle(two[0])).ok()
			s.one(url)
			same(t, "with nothing more to give", len(s.receive(url)), 0)
		}
	})
}

// TestFact130QuietGroupsFirst is where groups take turns more strictly than on AWS, which only keeps back those that hold more
// than a tenth of what is in flight, and at least 30: here whoever has the fewest in flight comes first from the start.
func TestFact130QuietGroupsFirst(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.queue("q", nil)
		for range 6 {
			s.batch(url, slicesOf(10, "noisy"), in("noisy")).ok()
		}
		for range 4 {
			same(t, "noisy ones", len(s.receive(url, ten)), 10)
		}
		s.put(url, "quiet", in("quiet"))
		s.put(url, "alone")
		got := bodies(s.receive(url, params{"MaxNumberOfMessages": 2}))
		for _, body := range got {
			if body == "noisy" {
				t.Errorf("received %v, want those of the groups with nothing in flight first", got)
			}
		}
		// Nothing is dropped.
		same(t, "the others", len(s.receive(url, ten))+len(s.receive(url, ten)), 20)
	})
}
