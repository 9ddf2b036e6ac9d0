package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// What a message says is one opaque string to the store, written and read here only:
//
//	+---------+--------------+-------------+-------+--- for each attribute ---+----------------+
//	| version | content type | traceparent | count | name   type   value      | body to the end|
//	+---------+--------------+-------------+-------+--------------------------+----------------+
//	  1 byte    string         string       uvarint  string string string
//
// A string is its length as uvarint, then its bytes. A message with a deduplication id of its own is written as version
// 2, where that follows the traceparent, as a string.
const (
	payloadVersion      = 1
	payloadDedupVersion = 2
)

// messageSize is what a message counts: body and attributes, in bytes, without what does not count.
func messageSize(m *Message) int64 {
	n := int64(len(m.Body))
	for i := range m.Attributes {
		a := &m.Attributes[i]
		n += int64(len(a.Name)) + int64(len(a.Type)) + int64(len(a.Value))
	}
	return n - int64(m.Uncounted)
}

// payloadBound is at least the length of the encoded message.
func payloadBound(m *Message) int {
	n := 1 + 4*binary.MaxVarintLen32 + len(m.ContentType) + len(m.TraceParent) + len(m.DedupID) + len(m.Body)
	for i := range m.Attributes {
		a := &m.Attributes[i]
		n += 3*binary.MaxVarintLen32 + len(a.Name) + len(a.Type) + len(a.Value)
	}
	return n
}

// appendHead encodes everything before the body.
func appendHead(b []byte, m *Message) []byte {
	version := byte(payloadVersion)
	if m.DedupID != "" {
		version = payloadDedupVersion
	}
	b = append(b, version)
	b = appendString(b, m.ContentType)
	b = appendString(b, m.TraceParent)
	if m.DedupID != "" {
		b = appendString(b, m.DedupID)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Attributes)))
	for i := range m.Attributes {
		a := &m.Attributes[i]
		b = appendString(b, a.Name)
		b = appendString(b, a.Type)
		b = appendString(b, a.Value)
	}
	return b
}

func appendString[S string | []byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodePayload reads a message into d. Body and attribute values share memory with p.
func decodePayload(p []byte, d *Delivery) error {
	if len(p) == 0 || p[0] != payloadVersion && p[0] != payloadDedupVersion {
		return fmt.Errorf("%w: message of unknown version %x", store.ErrCorrupt, p[:min(len(p), 1)])
	}
	r := payloadReader{rest: p[1:]}
	d.ContentType = knownString(r.string())
	d.TraceParent = string(r.string())
	if p[0] == payloadDedupVersion {
		d.DedupID = string(r.string())
	}
	count := r.uvarint()
	// Each attribute takes three bytes at least, which bounds what is allocated.
	if count > uint64(len(r.rest)/3) {
		r.bad = true
	} else if count > 0 {
		d.Attributes = make([]Attribute, count)
	}
	for i := range d.Attributes {
		a := &d.Attributes[i]
		a.Name = string(r.string())
		a.Type = knownString(r.string())
		a.Value = r.string()
	}
	if r.bad {
		return fmt.Errorf("%w: message cut short", store.ErrCorrupt)
	}
	d.Body = r.rest
	return nil
}

// attributesIn is the number of attributes of an encoded message; 0 if it is none.
func attributesIn(p []byte) int {
	if len(p) == 0 {
		return 0
	}
	r := payloadReader{rest: p[1:]}
	r.string()
	r.string()
	if p[0] == payloadDedupVersion {
		r.string()
	}
	if n := r.uvarint(); n <= uint64(len(r.rest)/3) {
		return int(n)
	}
	return 0
}

// payloadReader reads from the front; after the first fault it gives nothing and remembers.
type payloadReader struct {
	rest []byte
	bad  bool
}

func (r *payloadReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *payloadReader) string() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	s := r.rest[:n:n]
	r.rest = r.rest[n:]
	return s
}

// knownString spares an allocation for the strings almost every message has.
func knownString(b []byte) string {
	switch string(b) {
	case "":
		return ""
	case "String":
		return "String"
	case "Number":
		return "Number"
	case "Binary":
		return "Binary"
	case "application/json":
		return "application/json"
	case "application/octet-stream":
		return "application/octet-stream"
	case "text/plain":
		return "text/plain"
	}
	return string(b)
}
