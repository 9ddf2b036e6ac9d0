package sqs

import "github.com/dabba-mq/dabba/engine"

// purgeQueue removes all messages of a queue, also those in flight and delayed, and what it knows of duplicates.
func (c *call) purgeQueue(in *queueRequest) (*nothing, error) {
	ref, _, err := c.existing(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if !c.Relaxed {
		began, err := c.cool(ref, afterPurge)
		if err != nil {
			return nil, err
		}
		if !began {
			return nil, purgeQueueInProgress.is("Only one PurgeQueue operation on " + ref.Name + " is allowed every 60 seconds.")
		}
	}
	if _, err := c.Engine.Purge(c.ctx(), ref, engine.Filter{}); err != nil {
		return nil, err
	}
	return &nothing{}, nil
}
