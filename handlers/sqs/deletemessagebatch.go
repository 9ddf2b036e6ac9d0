package sqs

// deleteMessageBatch removes up to ten messages. Each handle is judged on its own.
func (c *call) deleteMessageBatch(in *deleteMessageBatchRequest) (*deleteMessageBatchAnswer, error) {
	ref, _, err := c.existing(in.QueueURL, "receive")
	if err != nil {
		return nil, err
	}
	if f := checkEntries("DeleteMessageBatchRequestEntry", len(in.Entries), func(i int) string { return in.Entries[i].ID }); f != nil {
		return nil, f
	}
	handles := make([]string, len(in.Entries))
	for i := range in.Entries {
		handles[i] = in.Entries[i].ReceiptHandle
	}
	results, err := c.Engine.AckAny(c.ctx(), ref, handles)
	if err != nil {
		return nil, err
	}
	answer := &deleteMessageBatchAnswer{Successful: make([]doneEntry, 0, len(in.Entries))}
	for i := range in.Entries {
		entry := &in.Entries[i]
		if f := notDeleted(ref, entry.ReceiptHandle, results[i].Err); f != nil {
			answer.Failed = append(answer.Failed, f.failed(entry.ID))
			continue
		}
		answer.Successful = append(answer.Successful, doneEntry{ID: entry.ID})
	}
	return answer, nil
}
