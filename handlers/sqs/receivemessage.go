package sqs

import (
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/exchange"
)

const (
	// maxMessages is the most that one receive may give.
	maxMessages = 10
	// maxWait is how long one receive may wait, in seconds.
	maxWait = 20
)

// receiveMessage leases messages, waiting for the first if asked to. What the client hangs up on is given back.
func (c *call) receiveMessage(in *receiveMessageRequest) (*receiveMessageAnswer, error) {
	ref, config, err := c.existing(in.QueueURL, "receive")
	if err != nil {
		return nil, err
	}
	req, f := in.engine(config)
	if f != nil {
		return nil, f
	}
	if req.Wait == nil && config.Wait > 0 || req.Wait != nil && *req.Wait > 0 {
		exchange.UnhurriedRead(c.w)
	}
	got, err := c.Engine.Receive(c.ctx(), ref, req)
	if err != nil {
		return nil, notReceived(&req, err)
	}
	c.received = got
	if len(got.Messages) == 0 {
		return &receiveMessageAnswer{}, c.checkInFlight(ref, config)
	}
	s := showing{call: c, ref: ref, config: config, visibility: config.Visibility, repeatable: req.AttemptID != ""}
	if req.Visibility != nil {
		s.visibility = *req.Visibility
	}
	s.choose(in)
	answer := &receiveMessageAnswer{Messages: make([]message, len(got.Messages))}
	for i := range got.Messages {
		s.message(&answer.Messages[i], &got.Messages[i])
	}
	return answer, nil
}

// notReceived is err in the words of AWS, if it says that an attempt cannot be repeated any more.
func notReceived(req *engine.ReceiveRequest, err error) error {
	if e := engine.ErrorOf(err); e.Code == engine.CodeInvalidRequest && e.Field == "attempt_id" {
		return invalidValue(req.AttemptID, "ReceiveRequestAttemptId", e.Detail)
	}
	return err
}

// engine is the request as the engine takes it.
func (in *receiveMessageRequest) engine(config *engine.QueueConfig) (engine.ReceiveRequest, *fault) {
	req := engine.ReceiveRequest{Max: 1}
	if n := in.MaxNumberOfMessages; n != nil {
		if *n < 1 || *n > maxMessages {
			return req, invalidValue(strconv.Itoa(*n), "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
		}
		req.Max = *n
	}
	if n := in.WaitTimeSeconds; n != nil {
		if *n < 0 || *n > maxWait {
			return req, invalidValue(strconv.Itoa(*n), "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
		}
		wait := time.Duration(*n) * time.Second
		req.Wait = &wait
	}
	if n := in.VisibilityTimeout; n != nil {
		if *n < 0 || *n > maxVisibility {
			return req, invalidValue(strconv.Itoa(*n), "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.")
		}
		visibility := time.Duration(*n) * time.Second
		req.Visibility = &visibility
	}
	if id := in.ReceiveRequestAttemptID; id != nil && config.FIFO { // other queues ignore it
		if f := checkID("ReceiveRequestAttemptId", *id); f != nil {
			return req, f
		}
		req.AttemptID, req.FirstAttemptOnly = *id, true
	}
	return req, nil
}

// checkInFlight says whether nothing was given because too many messages are in flight. A FIFO queue is silent about it.
func (c *call) checkInFlight(ref engine.Ref, config *engine.QueueConfig) error {
	most := int64(config.Limits.MaxInFlight)
	if config.FIFO || most == 0 {
		return nil
	}
	q, err := c.Engine.Queue(c.ctx(), ref)
	if err != nil {
		return err
	}
	if q.Counts.Leased >= most && q.Counts.Ready > 0 {
		return overLimit.is("The queue has " + strconv.FormatInt(most, 10) +
			" messages in flight, which is its limit. Delete some, or let them become visible again.")
	}
	return nil
}
