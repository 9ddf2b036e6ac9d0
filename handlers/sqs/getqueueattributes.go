package sqs

import "slices"

// getQueueAttributes shows the attributes that are asked for. Those that the queue has not are left out.
func (c *call) getQueueAttributes(in *getQueueAttributesRequest) (*getQueueAttributesAnswer, error) {
	ref, err := c.queue(in.QueueURL, "read")
	if err != nil {
		return nil, err
	}
	q, err := c.Engine.Queue(c.ctx(), ref)
	if err != nil {
		return nil, err
	}
	const all = "All"
	for _, name := range in.AttributeNames {
		if name != all && attributeNamed(name) == nil {
			return nil, unknownAttribute(name)
		}
	}
	out := &getQueueAttributesAnswer{Attributes: make(map[string]string)}
	everything := slices.Contains(in.AttributeNames, all)
	for i := range attributes {
		a := &attributes[i]
		if !everything && !slices.Contains(in.AttributeNames, a.name) {
			continue
		}
		if value, ok := a.get(c, &q); ok {
			out.Attributes[a.name] = value
		}
	}
	return out, nil
}
