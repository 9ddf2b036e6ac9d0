package sqs

import "github.com/dabba-mq/dabba/engine"

// changeMessageVisibilityBatch is changeMessageVisibility for up to ten messages, each judged on its own.
func (c *call) changeMessageVisibilityBatch(in *changeMessageVisibilityBatchRequest) (*changeMessageVisibilityBatchAnswer, error) {
	ref, _, err := c.existing(in.QueueURL, "receive")
	if err != nil {
		return nil, err
	}
	entryID := func(i int) string { return in.Entries[i].ID }
	if f := checkEntries("ChangeMessageVisibilityBatchRequestEntry", len(in.Entries), entryID); f != nil {
		return nil, f
	}
	answer := &changeMessageVisibilityBatchAnswer{}
	items := make([]engine.ExtendItem, 0, len(in.Entries))
	ids := make([]string, 0, len(in.Entries))
	for i := range in.Entries {
		entry := &in.Entries[i]
		visibility, f := visibilityOf(entry.VisibilityTimeout)
		if f != nil {
			answer.Failed = append(answer.Failed, f.failed(entry.ID))
			continue
		}
		items = append(items, engine.ExtendItem{Receipt: entry.ReceiptHandle, Visibility: visibility})
		ids = append(ids, entry.ID)
	}
	if len(items) == 0 {
		_, err := c.Engine.Config(c.ctx(), ref) // nothing else asks whether there is such a queue
		return answer, err
	}
	results, err := c.Engine.ChangeVisibility(c.ctx(), ref, items, visibleWithin)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if f := notChanged(&items[i], results[i].Err); f != nil {
			answer.Failed = append(answer.Failed, f.failed(ids[i]))
			continue
		}
		answer.Successful = append(answer.Successful, doneEntry{ID: ids[i]})
	}
	return answer, nil
}
