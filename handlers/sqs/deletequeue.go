package sqs

import (
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// coolingTime is what must pass before the name of a deleted queue is used again, and between two purges of a queue.
const coolingTime = 60 * time.Second

// The names of what cools.
const (
	afterDelete = "delete"
	afterPurge  = "purge"
)

// deleteQueue removes a queue with all that is in it.
func (c *call) deleteQueue(in *queueRequest) (*nothing, error) {
	ref, err := c.queue(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if err := c.Engine.DeleteQueue(c.ctx(), ref, engine.Condition{}, true); err != nil {
		return nil, err
	}
	if !c.Relaxed {
		if _, err := c.cool(ref, afterDelete); err != nil {
			return nil, err
		}
	}
	return &nothing{}, nil
}

// cool begins the time in which something may not be done again, unless it runs. That there is no room to note it must keep
// nobody from making room.
func (c *call) cool(ref engine.Ref, what string) (began bool, err error) {
	began, err = c.Engine.Cool(c.ctx(), ref, what, coolingTime)
	if err != nil && engine.ErrorOf(err).Code == engine.CodeStorageFull {
		return true, nil
	}
	return began, err
}

// mayCreate refuses the name of a queue that was deleted a moment ago.
func (c *call) mayCreate(ref engine.Ref) error {
	if c.Relaxed {
		return nil
	}
	cooling, err := c.Engine.Cooling(c.ctx(), ref, afterDelete)
	if err == nil && cooling {
		err = queueDeletedRecently.is("You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	return err
}
