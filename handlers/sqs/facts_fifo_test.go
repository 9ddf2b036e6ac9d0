package sqs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

// fifo creates a FIFO queue that takes the body as deduplication id, unless the attributes say otherwise.
func (s *server) fifo(name string, more attrs) string {
	s.t.Helper()
	attributes := attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
	maps.Copy(attributes, more)
	return s.queue(name+".fifo", attributes)
}

// in is the group of a message.
func in(group string) params { return params{"MessageGroupId": group} }

// named is the deduplication id of a message.
func named(id string) params { return params{"MessageDeduplicationId": id} }

func TestFact088NoGroupOnFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.fifo("q", nil)
		const message = "The request must contain the parameter MessageGroupId."
		s.do("SendMessage", params{"QueueUrl": url, "MessageBody": "x"}).refused(400, "MissingParameter", message)
		s.do("SendMessageBatch", params{"QueueUrl": url, "Entries": []params{
			{"Id": "a", "MessageBody": "a", "MessageGroupId": "g"}, {"Id": "b", "MessageBody": "b"},
		}}).refused(400, badValue, message)
		s.counts(url, 0, 0, 0)
	})
}

func TestFact089NoDeduplicationID(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.fifo("q", attrs{"ContentBasedDeduplication": "false"})
		const message = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
		s.do("SendMessage", with(params{"QueueUrl": url, "MessageBody": "x"}, in("g"))).refused(400, badValue, message)
		s.do("SendMessageBatch", params{"QueueUrl": url, "Entries": []params{
			with(params{"Id": "a", "MessageBody": "a"}, in("g"), named("a")),
			with(params{"Id": "b", "MessageBody": "b"}, in("g")),
		}}).refused(400, badValue, message)
		s.counts(url, 0, 0, 0)
		s.put(url, "x", in("g"), named("x"))
	})
}

func TestFact090SequencesRise(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		last := ""
		rises := func(n string) {
			t.Helper()
			if n <= last {
				t.Errorf("sequence number %q after %q", n, last)
			}
			last = n
		}
		for _, group := range []string{"g1", "g2"} {
			rises(s.put(url, group, in(group)).text("SequenceNumber"))
			for _, entry := range s.batch(url, []string{group + "a", group + "b"}, in(group)).ok().list("Successful") {
				rises(entry.text("SequenceNumber"))
			}
		}
	})
}

func TestFact091DelayOfAMessageOnFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", attrs{"DelaySeconds": "5"})
		const message = "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type."
		s.do("SendMessage", with(params{"QueueUrl": url, "MessageBody": "x", "DelaySeconds": 2}, in("g"))).refused(400, badValue, message)
		failed := s.batch(url, []string{"x"}, in("g"), params{"DelaySeconds": 2}).ok().list("Failed")
		same(t, "failures", len(failed), 1)
		same(t, "why", failed[0].text("Message"), message)
		s.put(url, "x", in("g"), params{"DelaySeconds": 0})
		same(t, "during the queue's delay", len(s.receive(url)), 0)
		s.advance(5 * second)
		s.gives(url, "x")
	})
}

func TestFact092DelayOfTheQueueOnFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", attrs{"DelaySeconds": "5"})
		s.grouped(url, "g", "a", "b")
		s.counts(url, 0, 0, 2)
		s.advance(3 * second)
		s.grouped(url, "g", "c")
		same(t, "during the delay", len(s.receive(url)), 0)
		s.advance(2 * second)
		got := s.gives(url, "a", "b")
		for _, m := range got {
			s.remove(url, handle(m)).ok()
		}
		s.advance(3 * second)
		s.gives(url, "c")
	})
}

func TestFact093Deduplication(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		first := s.put(url, "x", in("g"))
		again := s.put(url, "x", in("g"), params{"MessageAttributes": params{"Foo": text("String", "Bar")}})
		same(t, "id of a duplicate", again.text("MessageId"), first.text("MessageId"))
		same(t, "sequence of a duplicate", again.text("SequenceNumber"), first.text("SequenceNumber"))
		entry := s.batch(url, []string{"x"}, in("g")).ok().list("Successful")[0]
		same(t, "id of a duplicate in a batch", entry.text("MessageId"), first.text("MessageId"))
		s.remove(url, handle(s.gives(url, "x")[0])).ok()

		s.advance(5*time.Minute - second)
		same(t, "id after the first was deleted", s.put(url, "x", in("g")).text("MessageId"), first.text("MessageId"))
		same(t, "received", len(s.receive(url)), 0)
		s.advance(second)
		if s.put(url, "x", in("g")).text("MessageId") == first.text("MessageId") {
			t.Error("a message is a duplicate of one sent five minutes ago")
		}
		s.gives(url, "x")
	})
}

func TestFact094ExplicitDeduplicationID(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.put(url, "body", in("g"), named("1"))
		s.put(url, "body", in("g"), named("2"))
		s.put(url, "other", in("g"), named("1"))
		s.gives(url, "body", "body")

		sum := sha256.Sum256([]byte("hashed"))
		s.put(url, "hashed", in("h"))
		s.put(url, "another", in("h"), named(hex.EncodeToString(sum[:])))
		s.gives(url, "hashed")
	})
}

func TestFact095DeduplicationScopes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		whole := s.fifo("whole", nil)
		s.put(whole, "a", in("g1"), named("id"))
		s.put(whole, "b", in("g2"), named("id"))
		s.gives(whole, "a")

		groups := s.fifo("groups", attrs{"DeduplicationScope": "messageGroup"})
		s.put(groups, "a", in("g1"), named("id"))
		s.put(groups, "b", in("g2"), named("id"))
		s.put(groups, "c", in("g2"), named("id"))
		s.gives(groups, "a", "b")
		same(t, "limit", s.do("GetQueueAttributes", params{"QueueUrl": groups, "AttributeNames": []string{"FifoThroughputLimit"}}).
			ok().object("Attributes").text("FifoThroughputLimit"), "perQueue")
	})
}

func TestFact096ChangedDeduplicationScope(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		for _, tc := range []struct {
			name, from, to string
			gives          []string
		}{
			{"narrowed", "queue", "messageGroup", []string{"a"}},
			{"widened", "messageGroup", "queue", []string{"a", "b"}},
		} {
			url := s.fifo(tc.name, attrs{"DeduplicationScope": tc.from})
			s.do("SetQueueAttributes", params{"QueueUrl": url, "Attributes": attrs{"DeduplicationScope": tc.to}}).ok()
			same(t, "scope shown", s.do("GetQueueAttributes", params{"QueueUrl": url, "AttributeNames": []string{"DeduplicationScope"}}).
				ok().object("Attributes").text("DeduplicationScope"), tc.to)
			s.put(url, "a", in("g1"), named("id"))
			s.put(url, "b", in("g2"), named("id"))
			s.gives(url, tc.gives...)
		}
	})
}

func TestFact097PurgeOnFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		first := s.put(url, "in flight", in("g"))
		s.put(url, "ready", in("g"))
		s.one(url)
		s.do("PurgeQueue", params{"QueueUrl": url}).ok()
		s.counts(url, 0, 0, 0)
		if s.put(url, "in flight", in("g")).text("MessageId") == first.text("MessageId") {
			t.Error("a message is a duplicate of one that was purged")
		}
		s.gives(url, "in flight")

		delayed := s.fifo("delayed", attrs{"DelaySeconds": "5"})
		s.put(delayed, "x", in("g"))
		s.do("PurgeQueue", params{"QueueUrl": delayed}).ok()
		s.advance(5 * second)
		same(t, "received after the purge", len(s.receive(delayed)), 0)
	})
}

func TestFact098OneGroupFirst(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g1", "g1-m1")
		s.grouped(url, "g2", "g2-m1")
		s.grouped(url, "g1", "g1-m2", "g1-m3")
		s.gives(url, "g1-m1", "g1-m2", "g1-m3", "g2-m1")
		many := s.fifo("many", nil)
		s.grouped(many, "g", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		s.gives(many, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	})
}

func TestFact099GroupsInFlight(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g", "a", "b", "c", "d")
		for first := range 2 { // whichever of the two is deleted first
			two := s.receive(url, params{"MaxNumberOfMessages": 2})
			same(t, "given to another", len(s.receive(url)), 0)
			s.remove(url, handle(two[first])).ok()
			same(t, "given while one is in flight", len(s.receive(url)), 0)
			s.remove(url, handle(two[1-first])).ok()
		}
		s.counts(url, 0, 0, 0)
	})
}

func TestFact099PollersWaitForTheGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		url := s.fifo("q", nil)
		s.grouped(url, "g", "a", "b")
		first := s.one(url)
		waiting := s.poll(url, ten, params{"WaitTimeSeconds": 20})
		s.remove(url, handle(first)).ok()
		(<-waiting).want(t, 0, "b")
	})
}

func TestFact100VisibleAgain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g", "a", "b", "c", "d")
		got := s.receive(url, params{"MaxNumberOfMessages": 3})
		s.hide(url, handle(got[0]), 0).ok()
		s.gives(url, "a")

		s.hide(url, handle(got[1]), 5).ok()
		s.advance(5 * second)
		same(t, "behind the first, which is in flight", len(s.receive(url)), 0)
		s.advance(25 * second) // the first and the third, too
		s.gives(url, "a", "b", "c", "d")
	})
}

func TestFact100OwnTimeoutEnds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g", "a", "b", "c", "d")
		got := s.receive(url, params{"MaxNumberOfMessages": 3})
		s.hide(url, handle(got[0]), 5).ok()
		same(t, "before it ends", len(s.receive(url)), 0)
		s.advance(5 * second)
		s.gives(url, "a")
	})
}

func TestFact101ExtendedInTheMiddle(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g", "a", "b", "c", "d")
		got := s.receive(url, params{"MaxNumberOfMessages": 3})
		s.hide(url, handle(got[1]), 60).ok()
		s.advance(30 * second)
		for _, m := range s.gives(url, "a") {
			s.remove(url, handle(m)).ok()
		}
		s.gives(url)
		s.advance(30 * second)
		s.gives(url, "b", "c", "d")
	})
}

func TestFact102FreedGroupsGoToTheBack(t *testing.T) {
	t.Parallel()
	both(t, func(_ *testing.T, s *server) {
		for _, free := range []func(url, handle string){
			func(url, handle string) { s.hide(url, handle, 0).ok() },
			func(string, string) { s.advance(30 * second) },
		} {
			url := s.fifo("q", nil)
			s.grouped(url, "g1", "g1-m1")
			s.grouped(url, "g2", "g2-m1")
			free(url, handle(s.one(url)))
			s.gives(url, "g2-m1", "g1-m1")
			s.do("PurgeQueue", params{"QueueUrl": url}).ok()
			s.advance(time.Minute)
		}
	})
}

func TestFact103VisibilityZeroLocksNoGroup(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		url := s.fifo("q", nil)
		s.grouped(url, "g1", "g1-m1", "g1-m2")
		s.grouped(url, "g2", "g2-m1")
		var got []string
		for range 3 {
			got = append(got, s.one(url, params{"VisibilityTimeout": 0}).text("Body"))
		}
		same(t, "received in turn", got, []string{"g1-m1", "g2-m1", "g1-m1"})
	})
}

func TestFact104EmptiedGroups(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *server) {
		dead := s.fifo("dead", nil)
		url := s.fifo("q", attrs{"RedrivePolicy": redriveTo("dead.fifo", 1)})
		s.put(url, "deleted", in("g"))
		s.remove(url, handle(s.gives(url, "deleted")[0])).ok()
		s.put(url, "moved", in("g"))
		s.gives(url, "moved")
		s.advance(30 * second)
		same(t, "received once more", len(s.receive(url)), 0)
		s.gives(dead, "moved")
		s.put(url, "later", in("g"))
		s.gives(url, "later")
	})
}
