package sqs

// listQueueTags shows the tags of a queue.
func (c *call) listQueueTags(in *queueRequest) (*listQueueTagsAnswer, error) {
	ref, err := c.queue(in.QueueURL, "read")
	if err != nil {
		return nil, err
	}
	config, err := c.Engine.Config(c.ctx(), ref)
	if err != nil {
		return nil, err
	}
	return &listQueueTagsAnswer{Tags: config.Tags}, nil
}
