package engine

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxNameBytes   = 80
	maxTenantBytes = 128
	maxTags        = 50
	maxTagName     = 128 // characters, as of the value
	maxTagValue    = 256
	maxAllowFrom   = 100
	minRetention   = time.Second
	minTTL         = time.Millisecond
	// lastYear keeps times of delivery within what 64-bit nanoseconds can count.
	lastYear = 2200
)

// validName checks a queue's name; [FIFOSuffix] is part of it.
func validName(field, name string) *Error {
	stem := strings.TrimSuffix(name, FIFOSuffix)
	if name == "" || len(name) > maxNameBytes {
		return invalid(field, fmt.Sprintf("A queue's name has 1 to %d characters.", maxNameBytes))
	}
	if stem == "" {
		return invalid(field, "A queue's name has something before "+FIFOSuffix+".")
	}
	for i := range len(stem) {
		switch c := stem[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return invalid(field, "A queue's name has letters, digits, '_' and '-' only, and "+FIFOSuffix+" at the end of a FIFO queue's.")
		}
	}
	return nil
}

func validRef(ref Ref) *Error {
	if ref.Tenant == "" || len(ref.Tenant) > maxTenantBytes {
		return invalid("tenant", fmt.Sprintf("A tenant's name has 1 to %d bytes.", maxTenantBytes))
	}
	return validName("name", ref.Name)
}

func validDuration(field string, d, least, most time.Duration) *Error {
	if d < least || d > most {
		return invalid(field, fmt.Sprintf("Give a duration from %v to %s.", least, strings.TrimSuffix(most.String(), "0m0s")))
	}
	return nil
}

// firstError is the first that is not nil.
func firstError(errs ...*Error) *Error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// validate checks the configuration of the queue named ref.
func (c *QueueConfig) validate(ref Ref) *Error {
	return firstError(
		validRef(ref),
		validDuration("visibility", c.Visibility, 0, MaxDuration),
		validDuration("delay", c.Delay, 0, MaxDuration),
		validDuration("retention", c.Retention, minRetention, MaxDuration),
		validDuration("wait", c.Wait, 0, MaxWait),
		c.validateSize(),
		c.validateFIFO(ref),
		c.Dedup.validate(),
		c.Retry.validate(),
		c.DeadLetter.validate(),
		c.Limits.validate(),
		c.validatePriorities(),
		c.validateAck(),
		validAcks(c.Acks, c.MinInsyncReplicas),
		c.validateShards(),
		validTags(c.Tags),
		validNotes(c.Notes),
	)
}

func (c *QueueConfig) validateSize() *Error {
	if c.MaxMessageBytes < 1 || c.MaxMessageBytes > MaxMessageBytesLimit {
		return invalid("max_message_bytes", fmt.Sprintf("Give a number from 1 to %d.", MaxMessageBytesLimit))
	}
	return nil
}

func (r *Retry) validate() *Error {
	switch r.Policy {
	case RetryNone, RetryFixed, RetryExponential:
	default:
		return invalid("retry.policy", "Give none, fixed or exponential.")
	}
	switch r.Jitter {
	case JitterFull, JitterEqual, JitterNone:
	default:
		return invalid("retry.jitter", "Give full, equal or none.")
	}
	return firstError(
		validDuration("retry.base", r.Base, 0, MaxDuration),
		validDuration("retry.cap", r.Cap, 0, MaxDuration),
	)
}

func (d *DeadLetter) validate() *Error {
	if d.When != Eager && d.When != Lazy {
		return invalid("dead_letter.when", "Give eager or lazy.")
	}
	if len(d.AllowFrom) > maxAllowFrom {
		return invalid("dead_letter.allow_from", fmt.Sprintf("Give at most %d names, or leave it out to allow all queues.", maxAllowFrom))
	}
	for i, name := range d.AllowFrom {
		if err := validName(fmt.Sprintf("dead_letter.allow_from[%d]", i), name); err != nil {
			return err
		}
	}
	if d.Queue == "" {
		return nil
	}
	return validName("dead_letter.queue", d.Queue)
}

func validTags(tags map[string]string) *Error {
	if len(tags) > maxTags {
		return invalid("tags", fmt.Sprintf("Give at most %d tags.", maxTags))
	}
	for name, value := range tags {
		if name == "" || utf8.RuneCountInString(name) > maxTagName || utf8.RuneCountInString(value) > maxTagValue ||
			!utf8.ValidString(name) || !utf8.ValidString(value) {
			return invalid("tags", fmt.Sprintf("A tag's name has 1 to %d characters and its value up to %d, in UTF-8.", maxTagName, maxTagValue))
		}
	}
	return nil
}

func validNotes(notes map[string]string) *Error {
	bytes := 0
	for name, value := range notes {
		bytes += len(name) + len(value)
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return invalid("notes", "A note has a name, and both name and value are in UTF-8.")
		}
	}
	if len(notes) > MaxNotes || bytes > MaxNotesBytes {
		return invalid("notes", fmt.Sprintf("Give at most %d notes, with at most %d bytes of names and values together; these are %d with %d.",
			MaxNotes, MaxNotesBytes, len(notes), bytes))
	}
	return nil
}

// validate checks the i-th message of a request to a queue with the configuration c; size is its size.
func (m *Message) validate(i int, size int64, c *QueueConfig) *Error {
	if size > c.MaxMessageBytes {
		return &Error{
			Code: CodeTooLarge, Field: messageField(i, "body"), Outcome: NotApplied,
			Detail: fmt.Sprintf("Body and attributes have %d bytes and the queue's max_message_bytes is %d; send less or raise it.", size, c.MaxMessageBytes),
		}
	}
	if most := c.Limits.MaxBytes; most > 0 && size > most { // there will never be room for it
		return &Error{
			Code: CodeTooLarge, Field: messageField(i, "body"), Outcome: NotApplied,
			Detail: fmt.Sprintf("Body and attributes have %d bytes and the queue's limits.max_bytes is %d for all its messages; send less or raise it.", size, most),
		}
	}
	if err := validHeader(m.ContentType); err != "" {
		return invalid(messageField(i, "content_type"), err)
	}
	if err := validHeader(m.TraceParent); err != "" {
		return invalid(messageField(i, "traceparent"), err)
	}
	if m.Delay != nil && (*m.Delay < 0 || *m.Delay > MaxDuration) {
		return validDuration(messageField(i, "delay"), *m.Delay, 0, MaxDuration)
	}
	if m.DeliverAt != nil && m.DeliverAt.Year() > lastYear {
		return invalid(messageField(i, "deliver_at"), fmt.Sprintf("Give a time up to the year %d.", lastYear))
	}
	if m.TTL != nil && (*m.TTL < minTTL || *m.TTL > MaxDuration) {
		return validDuration(messageField(i, "ttl"), *m.TTL, minTTL, MaxDuration)
	}
	if m.Group != "" && validID(m.Group) != "" {
		return invalid(messageField(i, "group"), validID(m.Group))
	}
	if m.DedupID != "" && validID(m.DedupID) != "" {
		return invalid(messageField(i, "dedup_id"), validID(m.DedupID))
	}
	if m.Priority != 0 {
		if err := m.validatePriority(i, c); err != nil {
			return err
		}
	}
	if len(m.Attributes) > 0 {
		return m.validateAttributes(i)
	}
	return nil
}

func (m *Message) validatePriority(i int, c *QueueConfig) *Error {
	field := messageField(i, "priority")
	switch {
	case c.FIFO:
		return invalid(field, "A FIFO queue keeps the order of each group, so a message has no priority; leave it out.")
	case m.Priority < 0 || m.Priority > MaxPriority:
		return invalid(field, fmt.Sprintf("Give a number from 0 to %d, which comes first.", MaxPriority))
	case c.Priorities == 1:
		return invalid(field, "The queue has one level of priority; set its priorities to 10, or leave priority out.")
	}
	return nil
}

// validID says what is wrong with a group, a deduplication id or an attempt id; nothing is wrong with an empty one.
func validID(s string) string {
	if len(s) > MaxIDBytes {
		return fmt.Sprintf("Give at most %d bytes.", MaxIDBytes)
	}
	return validHeader(s)
}

func messageField(i int, name string) string { return fmt.Sprintf("messages[%d].%s", i, name) }

func validHeader(s string) string {
	if len(s) > MaxHeaderBytes {
		return fmt.Sprintf("Give at most %d bytes.", MaxHeaderBytes)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || !utf8.ValidString(s) {
		return "Give text without control characters."
	}
	return ""
}

func (m *Message) validateAttributes(i int) *Error {
	field := func(name string) string { return messageField(i, "attributes."+name) }
	if len(m.Attributes) > MaxAttributes {
		return invalid(messageField(i, "attributes"), fmt.Sprintf("Give at most %d attributes.", MaxAttributes))
	}
	for j := range m.Attributes {
		a := &m.Attributes[j]
		if a.Name == "" || len(a.Name) > MaxAttributeNameBytes || len(a.Type) > MaxAttributeNameBytes {
			at := messageField(i, "attributes")
			if a.Name != "" {
				at = field(a.Name[:min(len(a.Name), MaxAttributeNameBytes)])
			}
			return invalid(at,
				fmt.Sprintf("An attribute's name has 1 to %d bytes and its type at most as many.", MaxAttributeNameBytes))
		}
		if validHeader(a.Name) != "" || validHeader(a.Type) != "" {
			return invalid(messageField(i, "attributes"), "An attribute's name and type have no control characters.")
		}
	}
	if name, twice := repeatedName(m.Attributes); twice {
		return invalid(field(name), "Give each attribute once.")
	}
	return nil
}

// repeatedName looks pairwise while that is cheaper than a map.
func repeatedName(all []Attribute) (string, bool) {
	if len(all) > 16 {
		seen := make(map[string]struct{}, len(all))
		for i := range all {
			if _, ok := seen[all[i].Name]; ok {
				return all[i].Name, true
			}
			seen[all[i].Name] = struct{}{}
		}
		return "", false
	}
	for i := range all {
		for j := range i {
			if all[i].Name == all[j].Name {
				return all[i].Name, true
			}
		}
	}
	return "", false
}
