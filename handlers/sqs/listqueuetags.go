package sqs

// listQueueTags shows the tags of a queue.
func (c *call) listQueueTags(in *queueRequest) (*listQueueTagsAnswer, error) {
	_, config, err := c.existing(in.QueueURL, "read")
	if err != nil {
		return nil, err
	}
	return &listQueueTagsAnswer{Tags: config.Tags}, nil
}
