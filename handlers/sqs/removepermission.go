package sqs

import "slices"

// removePermission removes the statement with a label from the policy of a queue.
func (c *call) removePermission(in *removePermissionRequest) (*nothing, error) {
	ref, _, err := c.existing(in.QueueURL, "manage")
	if err != nil {
		return nil, err
	}
	if in.Label == "" {
		return nil, missing("Label")
	}
	return c.editPolicy(ref, func(p *policy) error {
		i := p.labeled(in.Label)
		if i < 0 {
			return invalidValue(in.Label, "Label", "can't find label.")
		}
		p.statements = slices.Delete(p.statements, i, i+1)
		return nil
	})
}
