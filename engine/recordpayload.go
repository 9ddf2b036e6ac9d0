package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// What a record of a topic says is one opaque string to the store, written and read here only:
//
//	+---------+-------+-----+--------------+-------------+-------+--- for each header ---+-----------------+
//	| version | flags | key | content type | traceparent | count | name   type   value   | value to the end|
//	+---------+-------+-----+--------------+-------------+-------+-----------------------+-----------------+
//	  1 byte    1 byte       string         string        uvarint  string string string
//
// A string is its length as uvarint, then its bytes. The flags say that there is a key, and that there is a value.
const (
	recordPayloadVersion = 1

	recordHasKey   = 1
	recordHasValue = 2
)

// recordBound is at least the length of the encoded record.
func recordBound(r *Record) int {
	n := 2 + 4*binary.MaxVarintLen32 + len(r.Key) + len(r.ContentType) + len(r.TraceParent) + len(r.Value)
	for i := range r.Headers {
		h := &r.Headers[i]
		n += 3*binary.MaxVarintLen32 + len(h.Name) + len(h.Type) + len(h.Value)
	}
	return n
}

func appendRecord(b []byte, r *Record) []byte {
	flags := byte(0)
	if r.Key != nil {
		flags |= recordHasKey
	}
	if r.Value != nil {
		flags |= recordHasValue
	}
	b = append(b, recordPayloadVersion, flags)
	b = appendString(b, r.Key)
	b = appendString(b, r.ContentType)
	b = appendString(b, r.TraceParent)
	b = binary.AppendUvarint(b, uint64(len(r.Headers)))
	for i := range r.Headers {
		h := &r.Headers[i]
		b = appendString(b, h.Name)
		b = appendString(b, h.Type)
		b = appendString(b, h.Value)
	}
	return append(b, r.Value...)
}

// decodeReadRecord reads a record into r. Key, value and headers share memory with p.
func decodeReadRecord(p []byte, r *ReadRecord) error {
	if len(p) < 2 || p[0] != recordPayloadVersion {
		return fmt.Errorf("%w: record of unknown version %x", store.ErrCorrupt, p[:min(len(p), 1)])
	}
	flags, in := p[1], payloadReader{rest: p[2:]}
	if key := in.string(); flags&recordHasKey != 0 {
		r.Key = key
	}
	r.ContentType = knownString(in.string())
	r.TraceParent = string(in.string())
	count := in.uvarint()
	// Each header takes three bytes at least, which bounds what is allocated.
	if count > uint64(len(in.rest)/3) {
		in.bad = true
	} else if count > 0 {
		r.Headers = make([]Attribute, count)
	}
	for i := range r.Headers {
		h := &r.Headers[i]
		h.Name = string(in.string())
		h.Type = knownString(in.string())
		h.Value = in.string()
	}
	if in.bad {
		return fmt.Errorf("%w: record cut short", store.ErrCorrupt)
	}
	if flags&recordHasValue != 0 {
		r.Value = in.rest
	}
	return nil
}
