package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

func validTopic(ref Ref) *Error {
	if ref.Tenant == "" || len(ref.Tenant) > maxTenantBytes {
		return invalid("tenant", fmt.Sprintf("A tenant's name has 1 to %d bytes.", maxTenantBytes))
	}
	return validWord("name", "A topic's name", ref.Name)
}

// validWord checks a name that is no queue's.
func validWord(field, what, name string) *Error {
	if name == "" || len(name) > maxNameBytes {
		return invalid(field, fmt.Sprintf("%s has 1 to %d characters.", what, maxNameBytes))
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return invalid(field, what+" has letters, digits, '_' and '-' only.")
		}
	}
	return nil
}

func (c *TopicConfig) validate() *Error {
	switch {
	case c.Partitions < 1 || c.Partitions > MaxPartitions:
		return invalid("partitions", fmt.Sprintf("Give a number from 1 to %d.", MaxPartitions))
	case c.RetentionBytes < 0:
		return invalid("retention.bytes", "Give a number of bytes, or 0 for no bound.")
	case c.MaxRecordBytes < 1 || c.MaxRecordBytes > MaxMessageBytesLimit:
		return invalid("max_record_bytes", fmt.Sprintf("Give a number from 1 to %d.", MaxMessageBytesLimit))
	}
	return firstError(
		validAcks(c.Acks, c.MinInsyncReplicas),
		validDuration("retention.age", c.RetentionAge, minRetention, MaxDuration),
	)
}

// recordSize is what a record counts: key, value and headers, in bytes.
func recordSize(r *Record) int64 {
	n := int64(len(r.Key)) + int64(len(r.Value))
	for i := range r.Headers {
		h := &r.Headers[i]
		n += int64(len(h.Name)) + int64(len(h.Type)) + int64(len(h.Value))
	}
	return n
}

func recordField(i int, name string) string {
	return strings.TrimSuffix(fmt.Sprintf("records[%d].%s", i, name), ".")
}

// validate checks the i-th record of a request to a topic of this configuration.
func (r *Record) validate(i int, size int64, c *TopicConfig) *Error {
	switch {
	case size > c.MaxRecordBytes:
		return &Error{
			Code: CodeTooLarge, Field: recordField(i, ""), Outcome: NotApplied,
			Detail: fmt.Sprintf("Key, value and headers are %d bytes; the topic allows %d.", size, c.MaxRecordBytes),
		}
	case len(r.Key) > MaxRecordKeyBytes:
		return invalid(recordField(i, "key"), fmt.Sprintf("A key has at most %d bytes.", MaxRecordKeyBytes))
	case r.Partition != nil && *r.Partition >= c.Partitions:
		return invalid(recordField(i, "partition"), fmt.Sprintf("The topic has partitions 0 to %d.", c.Partitions-1))
	case r.Timestamp != nil && (r.Timestamp.Year() < 1970 || r.Timestamp.Year() > lastYear):
		return invalid(recordField(i, "timestamp"), fmt.Sprintf("Give a time from 1970 to %d.", lastYear))
	}
	if why := validHeader(r.ContentType); why != "" {
		return invalid("Content-Type", why)
	}
	if why := validHeader(r.TraceParent); why != "" {
		return invalid("traceparent", why)
	}
	return r.validateHeaders(i)
}

func (r *Record) validateHeaders(i int) *Error {
	if len(r.Headers) > MaxHeaders {
		return invalid(recordField(i, "headers"), fmt.Sprintf("Give at most %d headers.", MaxHeaders))
	}
	for j := range r.Headers {
		h := &r.Headers[j]
		if h.Name == "" || len(h.Name) > MaxAttributeNameBytes || len(h.Type) > MaxAttributeNameBytes || !utf8.ValidString(h.Name) {
			return invalid(recordField(i, "headers"),
				fmt.Sprintf("A header's name has 1 to %d bytes and its type at most as many.", MaxAttributeNameBytes))
		}
		if validHeader(h.Name) != "" || validHeader(h.Type) != "" {
			return invalid(recordField(i, "headers"), "A header's name and type have no control characters.")
		}
	}
	if name, twice := repeatedName(r.Headers); twice {
		return invalid(recordField(i, "headers."+name), "Give each header once.")
	}
	return nil
}
