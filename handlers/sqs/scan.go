package sqs

import "github.com/dabba-mq/dabba/handlers/jsonwire"

// scan reads the shape that nearly all sends have: texts and whole numbers, without attributes. It is false for everything
// else, errors included, and leaves the request as it was: see [jsonwire.Scanner]. Other requests are short, so that decoding
// them costs next to nothing.
func scan(body []byte, request any) bool {
	s := scanner{jsonwire.Scan(body)}
	switch in := request.(type) {
	case *sendMessageRequest:
		ok := s.Object(func(name []byte) bool {
			if string(name) == "QueueUrl" {
				return s.given(&in.QueueURL)
			}
			return s.outgoing(&in.outgoing, name)
		})
		return keep(in, ok && s.End())
	case *sendMessageBatchRequest:
		ok := s.Object(func(name []byte) bool {
			switch {
			case string(name) == "QueueUrl":
				return s.given(&in.QueueURL)
			case string(name) == "Entries" && in.Entries == nil:
				return s.entries(in)
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

// scanner knows what sends look like. What a request has twice it does not take.
type scanner struct{ jsonwire.Scanner }

// entries reads no more of them than are allowed.
func (s *scanner) entries(in *sendMessageBatchRequest) bool {
	in.Entries = make([]sendMessageEntry, 0, maxEntries)
	return s.List(func() bool {
		n := len(in.Entries)
		if n == maxEntries {
			return false
		}
		in.Entries = in.Entries[:n+1]
		e := &in.Entries[n]
		return s.Object(func(name []byte) bool {
			if string(name) == "Id" {
				return s.text(&e.ID)
			}
			return s.outgoing(&e.outgoing, name)
		})
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
