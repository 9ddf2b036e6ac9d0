package sqs

import "github.com/dabba-mq/dabba/engine"

// deleteMessage removes a message. One that is gone already is fine.
func (c *call) deleteMessage(in *deleteMessageRequest) (*nothing, error) {
	ref, err := c.settles(in.QueueURL, in.ReceiptHandle)
	if err != nil {
		return nil, err
	}
	results, err := c.Engine.AckAny(c.ctx(), ref, []string{in.ReceiptHandle})
	if err != nil {
		return nil, err
	}
	if f := notDeleted(ref, in.ReceiptHandle, results[0].Err); f != nil {
		return nil, f
	}
	return &nothing{}, nil
}

// settles is the queue whose delivery a request is about, which it names by a handle.
func (c *call) settles(queueURL *string, handle string) (engine.Ref, error) {
	ref, _, err := c.existing(queueURL, "receive")
	if err == nil && handle == "" {
		err = missing("ReceiptHandle")
	}
	return ref, err
}

// notDeleted says why a message was not deleted; nil if it was, or is not there any more.
func notDeleted(ref engine.Ref, handle string, err *engine.Error) *fault {
	switch {
	case err == nil:
		return nil
	case err.Code == engine.CodeReceiptInvalid:
		return badHandle(handle)
	case err.Code == engine.CodeLeaseLost && isFIFO(ref.Name):
		return invalidValue(handle, "ReceiptHandle", "The receipt handle has expired.")
	case err.Code == engine.CodeLeaseLost: // it went to the dead-letter queue
		return nil
	}
	return faultOf(err)
}

func badHandle(handle string) *fault {
	return receiptHandleIsInvalid.is(`The input receipt handle "` + abridged(handle) + `" is not a valid receipt handle.`)
}
