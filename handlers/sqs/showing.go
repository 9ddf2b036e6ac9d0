package sqs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// Message bodies that SQS cannot carry, which other wires can send, are given in base64, with this attribute.
const (
	encodingAttribute = "dabba-body-encoding"
	encodedAttribute  = "base64"
)

// system is a set of system attributes of messages.
type system uint16

const (
	senderID system = 1 << iota
	sentTimestamp
	receiveCount
	firstReceive
	groupID
	deduplicationID
	sequence
	deadLetterSource
	awsTrace

	allSystem = system(1<<iota - 1)
)

// systems are the names by which receives ask for system attributes. Others are passed over: older clients ask for those
// of the queue in the same list.
var systems = map[string]system{
	"All":                              allSystem,
	"SenderId":                         senderID,
	"SentTimestamp":                    sentTimestamp,
	"ApproximateReceiveCount":          receiveCount,
	"ApproximateFirstReceiveTimestamp": firstReceive,
	"MessageGroupId":                   groupID,
	"MessageDeduplicationId":           deduplicationID,
	"SequenceNumber":                   sequence,
	"DeadLetterQueueSourceArn":         deadLetterSource,
	systemTrace:                        awsTrace,
}

// showing is how one receive shows its messages.
type showing struct {
	*call
	ref    engine.Ref
	config *engine.QueueConfig
	// visibility is how long the leases last.
	visibility time.Duration
	// repeatable says that the receive may be a repeat, so that leases may have begun before.
	repeatable bool
	// Which attributes are wanted: of the system's, all of the sender's, or those of the names and with the prefixes.
	system   system
	all      bool
	names    []string
	prefixes []string
}

// choose reads what the receive asks for.
func (s *showing) choose(in *receiveMessageRequest) {
	for _, name := range in.AttributeNames {
		s.system |= systems[name]
	}
	for _, name := range in.MessageSystemAttributeNames {
		s.system |= systems[name]
	}
	for _, name := range in.MessageAttributeNames {
		switch prefix, ok := strings.CutSuffix(name, ".*"); {
		case name == "All", name == "*", name == ".*":
			s.all = true
		case ok:
			s.prefixes = append(s.prefixes, prefix)
		default:
			s.names = append(s.names, name)
		}
	}
}

// message shows a delivery.
func (s *showing) message(m *message, d *engine.Delivery) {
	m.MessageID = d.ID.String()
	m.ReceiptHandle = d.Receipt
	encoded := !isLegal(textOf(d.Body))
	if encoded {
		m.Body = base64.StdEncoding.EncodeToString(d.Body)
	} else {
		m.Body = textOf(d.Body)
	}
	m.MD5OfBody = md5OfBody(m.Body)
	if s.system != 0 {
		m.Attributes = s.systemAttributes(d)
	}
	if shown := s.attributes(d.Attributes, encoded); len(shown) > 0 {
		m.MessageAttributes = make(map[string]messageAttribute, len(shown))
		for i := range shown {
			m.MessageAttributes[shown[i].Name] = wireAttribute(&shown[i])
		}
		m.MD5OfMessageAttributes = md5OfAttributes(shown)
	}
}

// attributes are those of the sender that are wanted.
func (s *showing) attributes(all []engine.Attribute, encoded bool) []engine.Attribute {
	var shown []engine.Attribute
	for i := range all {
		if name := all[i].Name; name != traceAttribute && s.wants(name) {
			shown = append(shown, shownAttribute(all[i]))
		}
	}
	// Without it nobody could tell such a body from one that was sent as base64, so it does not have to be asked for.
	if encoded {
		shown = slices.DeleteFunc(shown, func(a engine.Attribute) bool { return a.Name == encodingAttribute })
		shown = append(shown, engine.Attribute{Name: encodingAttribute, Type: stringType, Value: []byte(encodedAttribute)})
	}
	return shown
}

func (s *showing) wants(name string) bool {
	return s.all || slices.Contains(s.names, name) ||
		slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// systemAttributes are those of the system that are wanted and that the message has.
func (s *showing) systemAttributes(d *engine.Delivery) map[string]string {
	shown := make(map[string]string, 8)
	show := func(which system, name, value string) {
		if s.system&which != 0 && value != "" {
			shown[name] = value
		}
	}
	show(senderID, "SenderId", s.Account)
	show(sentTimestamp, "SentTimestamp", milliseconds(d.SentAt))
	show(receiveCount, "ApproximateReceiveCount", strconv.FormatUint(uint64(d.Receives), 10))
	show(groupID, "MessageGroupId", d.Group)
	if s.system&firstReceive != 0 {
		show(firstReceive, "ApproximateFirstReceiveTimestamp", milliseconds(s.firstReceive(d)))
	}
	if s.config.FIFO {
		show(sequence, "SequenceNumber", sequenceNumber(d.Sequence))
		if s.system&deduplicationID != 0 {
			show(deduplicationID, "MessageDeduplicationId", s.deduplicationID(d))
		}
	}
	if d.Origin != nil && d.Origin.Queue != "" {
		show(deadLetterSource, "DeadLetterQueueSourceArn", s.arn(d.Origin.Queue))
	}
	for i := range d.Attributes {
		if a := &d.Attributes[i]; a.Name == traceAttribute && isLegal(textOf(a.Value)) {
			show(awsTrace, systemTrace, string(a.Value))
		}
	}
	return shown
}

// milliseconds is a time as SQS writes those of messages.
func milliseconds(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// deduplicationID is the one that the message was sent with, or has by its content; empty when it has none. A dead letter
// has its own id instead: SQS lets two with one deduplication id into the same dead-letter queue by that.
func (s *showing) deduplicationID(d *engine.Delivery) string {
	switch {
	case d.Origin != nil:
		return d.ID.String()
	case d.DedupID != "" || !s.config.Dedup.ContentBased:
		return d.DedupID
	}
	sum := sha256.Sum256(d.Body)
	return hex.EncodeToString(sum[:])
}

// firstReceive is when the message was first delivered. That is now for most; of others the queue remembers their last
// deliveries.
func (s *showing) firstReceive(d *engine.Delivery) time.Time {
	now := d.Lease.ExpiresAt.Add(-s.visibility)
	if s.config.Ack == engine.AckOnReceive { // whose leases last as long as the queue likes
		now = s.Now()
	}
	if d.Receives == 1 && !s.repeatable {
		return now
	}
	looked, err := s.Engine.Look(s.ctx(), s.ref, d.ID)
	if err != nil { // someone has removed it since; an answer that is nearly right is all that the name promises
		return now
	}
	for i := range looked.Timeline {
		if e := &looked.Timeline[i]; e.Kind == engine.EventDelivered {
			return e.At
		}
	}
	return now
}
