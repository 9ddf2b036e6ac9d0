package sqs

// listDeadLetterSourceQueues lists the queues that have this one for their dead letters, as far as the principal may read
// them.
func (c *call) listDeadLetterSourceQueues(in *listDeadLetterSourceQueuesRequest) (*listDeadLetterSourceQueuesAnswer, error) {
	ref, _, err := c.existing(in.QueueURL, "read")
	if err != nil {
		return nil, err
	}
	page, err := readPage(in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	names, err := c.Engine.Feeders(c.ctx(), ref)
	if err != nil {
		return nil, err
	}
	out := &listDeadLetterSourceQueuesAnswer{QueueURLs: []string{}}
	after := ""
	for _, name := range names {
		if name <= page.after || !c.principal.Allows("queues", "read", name) {
			continue
		}
		if len(out.QueueURLs) == page.limit {
			out.NextToken = page.next(after)
			break
		}
		out.QueueURLs = append(out.QueueURLs, c.url(name))
		after = name
	}
	return out, nil
}
