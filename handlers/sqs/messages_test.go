package sqs_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// all asks for whatever a message has.
var all = params{
	"MaxNumberOfMessages":         10,
	"MessageSystemAttributeNames": []string{"All"},
	"MessageAttributeNames":       []string{"All"},
}

// ten asks for as many messages as there may be at once.
var ten = params{"MaxNumberOfMessages": 10}

// with is a request made of parts; the later ones win.
func with(parts ...params) params {
	whole := params{}
	for _, part := range parts {
		maps.Copy(whole, part)
	}
	return whole
}

// text is an attribute of a message.
func text(dataType, value string) params { return params{"DataType": dataType, "StringValue": value} }

// put sends a message.
func (s *server) put(url, body string, more ...params) members {
	s.t.Helper()
	return s.do("SendMessage", with(append([]params{{"QueueUrl": url, "MessageBody": body}}, more...)...)).ok()
}

// grouped sends messages of a group, each with its body as deduplication id.
func (s *server) grouped(url, group string, bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		s.put(url, body, params{"MessageGroupId": group, "MessageDeduplicationId": body})
	}
}

// receive asks for messages.
func (s *server) receive(url string, more ...params) []members {
	s.t.Helper()
	return s.do("ReceiveMessage", with(append([]params{{"QueueUrl": url}}, more...)...)).ok().list("Messages")
}

// one receives a message that must be there.
func (s *server) one(url string, more ...params) members {
	s.t.Helper()
	got := s.receive(url, more...)
	if len(got) != 1 {
		s.t.Fatalf("received %d messages, want one: %v", len(got), got)
	}
	return got[0]
}

// gives stops the test unless a receive of up to ten messages gives these, in this order.
func (s *server) gives(url string, want ...string) []members {
	s.t.Helper()
	got := s.receive(url, ten)
	if diff := cmp.Diff(want, bodies(got)); diff != "" {
		s.t.Fatalf("bodies received (-want +got):\n%s", diff)
	}
	return got
}

func bodies(messages []members) []string {
	var list []string
	for _, m := range messages {
		list = append(list, m.text("Body"))
	}
	return list
}

func handle(m members) string { return m.text("ReceiptHandle") }

// remove asks for the deletion of a message.
func (s *server) remove(url, handle string) *answer {
	s.t.Helper()
	return s.do("DeleteMessage", params{"QueueUrl": url, "ReceiptHandle": handle})
}

// hide asks for a message to be hidden for so many seconds from now.
func (s *server) hide(url, handle string, seconds int) *answer {
	s.t.Helper()
	return s.do("ChangeMessageVisibility", params{"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds})
}

// counts are what is ready, in flight and delayed.
func (s *server) counts(url string, ready, inFlight, delayed int) {
	s.t.Helper()
	got := s.do("GetQueueAttributes", params{"QueueUrl": url, "AttributeNames": []string{"All"}}).ok().object("Attributes")
	names := []string{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	}
	for i, want := range []int{ready, inFlight, delayed} {
		if n := got.text(names[i]); n != strconv.Itoa(want) {
			s.t.Errorf("%s = %q, want %d", names[i], n, want)
		}
	}
}

// batch sends a batch of the bodies, whose ids are m0, m1 and so on.
func (s *server) batch(url string, bodies []string, more ...params) *answer {
	s.t.Helper()
	var entries []params
	for i, body := range bodies {
		entries = append(entries, with(append([]params{{"Id": "m" + strconv.Itoa(i), "MessageBody": body}}, more...)...))
	}
	return s.do("SendMessageBatch", params{"QueueUrl": url, "Entries": entries})
}

// ids are those of the entries of a list.
func ids(list []members) []string {
	var got []string
	for _, entry := range list {
		got = append(got, entry.text("Id"))
	}
	return got
}

// same stops the test unless both are equal.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// keys are the names of the members.
func keys(m members) []string { return slices.Sorted(maps.Keys(m)) }
