package sqs

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

const (
	// maxBatchBytes bounds all messages of a batch together.
	maxBatchBytes = 1 << 20
	// maxDelay bounds DelaySeconds.
	maxDelay = 900
	// traceHeader has the trace of a send whose messages bring none of their own.
	traceHeader = "X-Amzn-Trace-Id"
	// otherQueueType is the reason why a parameter is refused that the other kind of queue takes.
	otherQueueType = "The request include parameter that is not valid for this queue type."
)

// sending is a send under way: one message, or a batch.
type sending struct {
	*call
	ref    engine.Ref
	config *engine.QueueConfig
	// batch says that the messages are entries of a batch: AWS refuses some in other words then.
	batch bool
	// trace is that of the request, for messages that bring none; empty for none.
	trace string
}

// sendTo begins a send to the queue.
func (c *call) sendTo(queueURL *string, batch bool) (*sending, error) {
	ref, config, err := c.existing(queueURL, "send")
	if err != nil {
		return nil, err
	}
	s := &sending{call: c, ref: ref, config: config, batch: batch}
	if given := c.r.Header[traceHeader]; len(given) == 1 && isTrace(given[0]) {
		s.trace = given[0]
	}
	return s, nil
}

// renew reads the queue's configuration, by which a message was refused: another node may have replaced it, or deleted the
// queue. It says whether to look at the messages once more.
func (s *sending) renew() (changed bool, err error) {
	config, err := s.Engine.Config(s.ctx(), s.ref)
	if err != nil {
		return false, err
	}
	changed = config != s.config
	s.config = config
	return changed, nil
}

// checkOrder says what a message lacks that a FIFO queue needs; nil if nothing. One such message refuses its whole batch.
func (s *sending) checkOrder(o *outgoing) *fault {
	switch {
	case !s.config.FIFO:
	case o.MessageGroupID == nil:
		f := missing("MessageGroupId")
		if s.batch {
			f.kind = invalidParameterValue
		}
		return f
	case o.MessageDeduplicationID == nil && !s.config.Dedup.ContentBased:
		return invalidParameterValue.is("The queue should either have ContentBasedDeduplication enabled or " +
			"MessageDeduplicationId provided explicitly")
	}
	return nil
}

// message is the message as the engine takes it, or why SQS does not.
func (s *sending) message(o *outgoing) (engine.Message, *fault) {
	if f := s.check(o); f != nil {
		return engine.Message{}, f
	}
	trace := s.traceOf(o)
	m := engine.Message{Body: bytesOf(o.MessageBody), Attributes: engineAttributes(o.MessageAttributes, trace)}
	if trace != "" {
		m.Uncounted = len(traceAttribute) + len(trace)
	}
	if o.MessageGroupID != nil {
		m.Group = *o.MessageGroupID
	}
	if o.MessageDeduplicationID != nil {
		m.DedupID = *o.MessageDeduplicationID
	}
	// On a FIFO queue only 0 gets here, and it does not replace the queue's delay.
	if o.DelaySeconds != nil && !s.config.FIFO {
		delay := time.Duration(*o.DelaySeconds) * time.Second
		m.Delay = &delay
	}
	return m, nil
}

// check says why SQS does not take the message; nil if it does. It leaves out what checkOrder does.
func (s *sending) check(o *outgoing) *fault {
	if o.MessageBody == "" {
		return missing("MessageBody")
	}
	if !isLegal(o.MessageBody) {
		return invalidMessageContents.is("Invalid characters found. A message can have #x9, #xA, #xD, #x20 to #xD7FF, " +
			"#xE000 to #xFFFD and #x10000 to #x10FFFF.")
	}
	if len(o.MessageAttributes) > 0 {
		if f := checkAttributes(o.MessageAttributes); f != nil {
			return f
		}
	}
	if len(o.MessageSystemAttributes) > 0 {
		if f := checkSystemAttributes(o.MessageSystemAttributes); f != nil {
			return f
		}
	}
	if o.size() > s.config.MaxMessageBytes {
		return s.tooLong()
	}
	if o.DelaySeconds != nil {
		if f := s.checkDelay(*o.DelaySeconds); f != nil {
			return f
		}
	}
	if o.MessageGroupID != nil {
		if f := checkID("MessageGroupId", *o.MessageGroupID); f != nil {
			return f
		}
	}
	if id := o.MessageDeduplicationID; id != nil {
		if f := checkID("MessageDeduplicationId", *id); f != nil {
			return f
		}
		if !s.config.FIFO {
			return invalidValue(*id, "MessageDeduplicationId", otherQueueType)
		}
	}
	return nil
}

func (s *sending) checkDelay(seconds int) *fault {
	switch {
	case seconds < 0 || seconds > maxDelay:
		return invalidValue(strconv.Itoa(seconds), "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	case seconds > 0 && s.config.FIFO:
		return invalidValue(strconv.Itoa(seconds), "DelaySeconds", otherQueueType)
	}
	return nil
}

func (s *sending) tooLong() *fault {
	words := "One or more parameters are invalid."
	if s.batch {
		words = "One or more parameters cannot be validated."
	}
	return invalidParameterValue.is(words + " Reason: Message must be shorter than " +
		strconv.FormatInt(s.config.MaxMessageBytes, 10) + " bytes.")
}

// size is what the message counts: its body and its attributes with their names and types.
func (o *outgoing) size() int64 {
	n := len(o.MessageBody)
	for name, a := range o.MessageAttributes {
		n += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}
	return int64(n)
}

// traceOf is the trace of a message; empty for none.
func (s *sending) traceOf(o *outgoing) string {
	if a, ok := o.MessageSystemAttributes[systemTrace]; ok {
		return *a.StringValue
	}
	return s.trace
}

// send sends the messages that were found to be fine, all in one go, and says what became of each.
func (s *sending) send(messages []engine.Message) ([]engine.SendOutcome, error) {
	if err := s.takeTurns(messages); err != nil {
		return nil, err
	}
	answer, err := s.Engine.Send(s.ctx(), s.ref, engine.SendRequest{
		Messages: messages,
		// The deadline under which the request was read would end a wait for room.
		Waits: func() { exchange.UnhurriedRead(s.w) },
	})
	return answer.Outcomes, err
}

// takeTurns makes a queue that is not FIFO a fair one with its first message that names a group.
func (s *sending) takeTurns(messages []engine.Message) error {
	if !becomesFair(s.config) {
		return nil
	}
	for i := range messages {
		if messages[i].Group == "" {
			continue
		}
		_, err := s.configure(s.ref, func(now *engine.QueueConfig) error {
			now.Fair = now.Fair || becomesFair(now)
			return nil
		})
		return err
	}
	return nil
}

// becomesFair is false for queues whose groups take turns already, and for those with priorities, which come first.
func becomesFair(c *engine.QueueConfig) bool {
	limited := c.Limits.PerGroupInFlight > 0 || c.Limits.PerGroupRate > 0
	return !c.FIFO && !c.Fair && c.Priorities == 1 && !limited
}

// refused says why the engine did not take a message.
func (s *sending) refused(err *engine.Error) *fault {
	if err.Code == engine.CodeTooLarge {
		return s.tooLong()
	}
	return faultOf(err)
}

// sent is the answer about a message that was accepted, is a duplicate, or was passed over by a full queue that drops
// messages: SQS has no word for that, so it gets the id of nothing.
func (o *outgoing) sent(m *engine.Message, out *engine.SendOutcome) sent {
	answer := sent{MessageID: out.ID.String(), MD5OfMessageBody: md5OfBody(o.MessageBody)}
	if n := len(o.MessageAttributes); n > 0 {
		answer.MD5OfMessageAttributes = md5OfAttributes(m.Attributes[:n]) // the trace comes after them
	}
	if a, ok := o.MessageSystemAttributes[systemTrace]; ok {
		answer.MD5OfMessageSystemAttributes = md5OfAttributes([]engine.Attribute{{Name: systemTrace, Value: []byte(*a.StringValue)}})
	}
	if out.Sequence > 0 {
		answer.SequenceNumber = sequenceNumber(out.Sequence)
	}
	return answer
}

// sequenceNumber has 20 digits, so that numbers sort as texts do.
func sequenceNumber(n uint64) string { return fmt.Sprintf("%020d", n) }
