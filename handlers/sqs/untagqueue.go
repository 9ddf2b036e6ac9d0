package sqs

import (
	"maps"

	"github.com/dabba-mq/dabba/engine"
)

// untagQueue removes tags of a queue. Those it does not have are passed over.
func (c *call) untagQueue(in *untagQueueRequest) (*nothing, error) {
	ref, _, err := c.existing(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if len(in.TagKeys) == 0 {
		return nil, invalidParameterValue.is(wrongTagKey)
	}
	return c.configure(ref, func(config *engine.QueueConfig) error {
		config.Tags = maps.Clone(config.Tags)
		for _, key := range in.TagKeys {
			delete(config.Tags, key)
		}
		return nil
	})
}
