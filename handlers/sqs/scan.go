package sqs

import (
	"slices"

	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// scan reads the shape that nearly all requests on a message's way have: texts and whole numbers, without attributes. It is
// false for everything else, errors included, and leaves the request as it was: see [jsonwire.Scanner].
func scan(body []byte, request any) bool {
	s := scanner{jsonwire.Scan(body)}
	switch in := request.(type) {
	case *sendMessageRequest:
		ok := s.object(func(name []byte) bool {
			if string(name) == "QueueUrl" {
				return s.text(&in.QueueURL)
			}
			return s.outgoing(&in.outgoing, name)
		})
		return keep(in, ok && s.End())
	case *sendMessageBatchRequest:
		ok := scanBatch(&s, &in.QueueURL, &in.Entries, func(e *sendMessageEntry, name []byte) bool {
			if string(name) == "Id" {
				return s.text(&e.ID)
			}
			return s.outgoing(&e.outgoing, name)
		})
		return keep(in, ok && s.End())
	case *deleteMessageBatchRequest:
		ok := scanBatch(&s, &in.QueueURL, &in.Entries, func(e *deleteMessageEntry, name []byte) bool {
			switch string(name) {
			case "Id":
				return s.text(&e.ID)
			case "ReceiptHandle":
				return s.text(&e.ReceiptHandle)
			}
			return false
		})
		return keep(in, ok && s.End())
	case *deleteMessageRequest:
		ok := s.object(func(name []byte) bool {
			switch string(name) {
			case "QueueUrl":
				return s.text(&in.QueueURL)
			case "ReceiptHandle":
				return s.text(&in.ReceiptHandle)
			}
			return false
		})
		return keep(in, ok && s.End())
	}
	return false
}

// keep keeps what was scanned if it is the whole request.
func keep[In any](in *In, ok bool) bool {
	if !ok {
		var empty In
		*in = empty
	}
	return ok
}

// scanner knows what requests look like. What a request has twice it does not take.
type scanner struct{ jsonwire.Scanner }

// object reads an object whose members are read one by one.
func (s *scanner) object(member func(name []byte) bool) bool {
	if !s.Take('{') {
		return false
	}
	for {
		name, ok := s.Text()
		switch {
		case !ok || !s.Take(':') || !member(name):
			return false
		case s.Take('}'):
			return true
		case !s.Take(','):
			return false
		}
	}
}

// scanBatch reads a queue and a list of no more entries than are allowed.
func scanBatch[Entry any](s *scanner, queueURL *string, entries *[]Entry, member func(e *Entry, name []byte) bool) bool {
	return s.object(func(name []byte) bool {
		switch {
		case string(name) == "QueueUrl":
			return s.text(queueURL)
		case string(name) != "Entries" || *entries != nil || !s.Take('['):
			return false
		}
		*entries = slices.Grow(*entries, maxEntries)
		for len(*entries) < maxEntries {
			var none Entry
			*entries = append(*entries, none)
			e := &(*entries)[len(*entries)-1]
			if !s.object(func(name []byte) bool { return member(e, name) }) {
				return false
			}
			if s.Take(']') {
				return true
			}
			if !s.Take(',') {
				return false
			}
		}
		return false
	})
}

// outgoing reads a member of a message.
func (s *scanner) outgoing(o *outgoing, name []byte) bool {
	switch string(name) {
	case "MessageBody":
		text, ok := s.Text()
		if o.MessageBody != "" {
			return false
		}
		o.MessageBody = textOf(text) // nearly all there is of a request: it is borrowed, not copied
		return ok && len(text) > 0
	case "MessageGroupId":
		return s.given(&o.MessageGroupID)
	case "MessageDeduplicationId":
		return s.given(&o.MessageDeduplicationID)
	case "DelaySeconds":
		n, ok := s.Number()
		if o.DelaySeconds != nil {
			return false
		}
		o.DelaySeconds = &n
		return ok
	}
	return false
}

// text reads a text that is not empty, which is how one is known that was read before.
func (s *scanner) text(into *string) bool {
	if *into != "" {
		return false
	}
	text, ok := s.CopyText()
	*into = text
	return ok && text != ""
}

// given reads a text that may be empty.
func (s *scanner) given(into **string) bool {
	if *into != nil {
		return false
	}
	text, ok := s.CopyText()
	*into = &text
	return ok
}
