package sqs

import (
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

const (
	// maxVisibility bounds a visibility timeout, in seconds; visibleWithin is when it must have ended, from the receive.
	maxVisibility = 43200
	visibleWithin = maxVisibility * time.Second
)

// changeMessageVisibility lets a message be hidden until so many seconds from now.
func (c *call) changeMessageVisibility(in *changeMessageVisibilityRequest) (*nothing, error) {
	ref, err := c.settles(in.QueueURL, in.ReceiptHandle)
	if err != nil {
		return nil, err
	}
	visibility, f := visibilityOf(in.VisibilityTimeout)
	if f != nil {
		return nil, f
	}
	items := []engine.ExtendItem{{Receipt: in.ReceiptHandle, Visibility: visibility}}
	results, err := c.Engine.ChangeVisibility(c.ctx(), ref, items, visibleWithin)
	if err != nil {
		return nil, err
	}
	if f := notChanged(&items[0], results[0].Err); f != nil {
		return nil, f
	}
	return &nothing{}, nil
}

// visibilityOf reads a VisibilityTimeout that must be there.
func visibilityOf(seconds *int) (time.Duration, *fault) {
	switch {
	case seconds == nil:
		return 0, missing("VisibilityTimeout")
	case *seconds < 0 || *seconds > maxVisibility:
		return 0, invalidValue(strconv.Itoa(*seconds), "VisibilityTimeout", "VisibilityTimeout must be >= 0 and <= 43200.")
	}
	return time.Duration(*seconds) * time.Second, nil
}

// notChanged says why a visibility was not changed; nil if it was.
func notChanged(item *engine.ExtendItem, err *engine.Error) *fault {
	switch {
	case err == nil:
		return nil
	case err.Code == engine.CodeReceiptInvalid:
		return badHandle(item.Receipt)
	case err.Code == engine.CodeLeaseLost:
		return invalidValue(item.Receipt, "ReceiptHandle", "Message does not exist or is not available for visibility timeout change.")
	case err.Code == engine.CodeInvalidRequest:
		return invalidValue(strconv.Itoa(int(item.Visibility/time.Second)), "VisibilityTimeout",
			"Total VisibilityTimeout for the message is beyond the limit [43200 seconds].")
	}
	return faultOf(err)
}
