package sqs

// getQueueURL finds a queue by its name. Whoever may do anything with a queue may know its URL: clients that only send or
// only receive ask for it first.
func (c *call) getQueueURL(in *getQueueURLRequest) (*queueURLAnswer, error) {
	if in.QueueName == "" {
		return nil, missing("QueueName")
	}
	if owner := in.QueueOwnerAWSAccountID; owner != "" && owner != c.Account {
		return nil, noQueue()
	}
	ref, err := c.named(in.QueueName, c.anyAction(in.QueueName))
	if err != nil {
		return nil, err
	}
	if _, err := c.Engine.Config(c.ctx(), ref); err != nil {
		return nil, err
	}
	return &queueURLAnswer{QueueURL: c.url(ref.Name)}, nil
}

// anyAction is one that the principal may perform on the queue; read if there is none.
func (c *call) anyAction(name string) string {
	for _, action := range []string{"send", "receive", "manage"} {
		if c.principal.Allows("queues", action, name) {
			return action
		}
	}
	return "read"
}
