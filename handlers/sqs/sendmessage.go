package sqs

import "github.com/dabba-mq/dabba/engine"

// sendMessage sends one message. An answer means that it is durable.
func (c *call) sendMessage(in *sendMessageRequest) (*sent, error) {
	s, err := c.sendTo(in.QueueURL, false)
	if err != nil {
		return nil, err
	}
	if f := checkLists("SendMessage", &in.outgoing); f != nil {
		return nil, f
	}
	m, f := s.alone(&in.outgoing)
	if f != nil {
		changed, err := s.renew()
		if err != nil {
			return nil, err
		}
		if changed {
			m, f = s.alone(&in.outgoing)
		}
	}
	if f != nil {
		return nil, f
	}
	messages := []engine.Message{m}
	outcomes, err := s.send(messages)
	if err != nil {
		return nil, err
	}
	if outcomes[0].Err != nil {
		return nil, s.refused(outcomes[0].Err)
	}
	answer := in.sent(&messages[0], &outcomes[0])
	return &answer, nil
}

// alone is the message as the engine takes it, or why SQS does not take it from such a queue.
func (s *sending) alone(o *outgoing) (engine.Message, *fault) {
	m, f := s.message(o)
	if f == nil {
		f = s.checkOrder(o)
	}
	return m, f
}
