package sqs

import "github.com/dabba-mq/dabba/engine"

// setQueueAttributes changes the attributes that are given, all or none.
func (c *call) setQueueAttributes(in *setQueueAttributesRequest) (*nothing, error) {
	ref, _, err := c.existing(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if len(in.Attributes) == 0 {
		return nil, missing("Attributes")
	}
	asked, err := c.settings(ref.Name, in.Attributes)
	if err != nil {
		return nil, err
	}
	return c.configure(ref, func(config *engine.QueueConfig) error { return apply(config, asked, true) })
}
