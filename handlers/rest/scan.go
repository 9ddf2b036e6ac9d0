package rest

import (
	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/jsonwire"
)

// scanSend reads the shape that nearly all sends have: one message or a list of them, each with a text body and
// perhaps attributes that are plain strings, a group, a deduplication id and a priority. ok is false for everything else,
// errors included, which is then left to the strict decoder; whatever scanSend accepts, the strict decoder reads the same
// way. The messages share memory with b.
func scanSend(b []byte) (messages []engine.Message, many, ok bool) {
	s := scanner{jsonwire.Scan(b)}
	if !s.Take('{') {
		return nil, false, false
	}
	if s.Key("messages") {
		messages, ok = s.list()
		return messages, true, ok && s.Take('}') && s.End()
	}
	messages = make([]engine.Message, 1)
	ok = s.members(&messages[0]) && s.End()
	return messages, false, ok
}

// scanner knows what a message looks like.
type scanner struct{ jsonwire.Scanner }

func (s *scanner) list() (messages []engine.Message, ok bool) {
	ok = s.List(func() bool {
		if !s.Take('{') || len(messages) == engine.MaxBatch {
			return false
		}
		messages = append(messages, engine.Message{})
		return s.members(&messages[len(messages)-1])
	})
	return messages, ok
}

// members reads the rest of a message after its brace: a body and, before or after it, what else is usual.
func (s *scanner) members(m *engine.Message) bool {
	var seen struct{ group, dedup, priority bool }
	return s.Members(func(name []byte) (ok bool) {
		switch {
		case string(name) == "body" && m.Body == nil:
			m.Body, ok = s.Text()
		case string(name) == "attributes" && m.Attributes == nil:
			ok = s.attributes(m)
		case string(name) == "group" && !seen.group:
			m.Group, ok = s.CopyText()
			seen.group = true
		case string(name) == "dedup_id" && !seen.dedup:
			m.DedupID, ok = s.CopyText()
			seen.dedup = true
		case string(name) == "priority" && !seen.priority:
			m.Priority, ok = s.Number()
			seen.priority = true
		}
		return ok
	}) && m.Body != nil
}

func (s *scanner) attributes(m *engine.Message) bool {
	// More than these are looked at by the strict decoder, which finds duplicates without comparing all pairs.
	const most = 16
	if !s.Take('{') {
		return false
	}
	m.Attributes = make([]engine.Attribute, 0, 4)
	for !s.Take('}') {
		if len(m.Attributes) > 0 && !s.Take(',') {
			return false
		}
		name, ok := s.Text()
		if !ok || !s.Take(':') || len(m.Attributes) == most {
			return false
		}
		value, ok := s.Text()
		if !ok {
			return false
		}
		for _, earlier := range m.Attributes {
			if earlier.Name == string(name) {
				return false
			}
		}
		m.Attributes = append(m.Attributes, engine.Attribute{Name: string(name), Value: value})
	}
	return true
}
