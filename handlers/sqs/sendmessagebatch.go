package sqs

import (
	"strconv"

	"github.com/dabba-mq/dabba/engine"
)

// sendMessageBatch sends up to ten messages. One that is refused does not stop the others, but for what a FIFO queue
// needs of each.
func (c *call) sendMessageBatch(in *sendMessageBatchRequest) (*sendMessageBatchAnswer, error) {
	s, err := c.sendTo(in.QueueURL, true)
	if err != nil {
		return nil, err
	}
	if f := s.checkBatch(in.Entries); f != nil {
		return nil, f
	}
	answer := &sendMessageBatchAnswer{}
	messages := make([]engine.Message, 0, len(in.Entries))
	fine := make([]*sendMessageEntry, 0, len(in.Entries))
	for i := range in.Entries {
		entry := &in.Entries[i]
		m, f := s.message(&entry.outgoing)
		if f != nil {
			answer.Failed = append(answer.Failed, f.failed(entry.ID))
			continue
		}
		messages, fine = append(messages, m), append(fine, entry)
	}
	if len(messages) == 0 {
		return answer, nil
	}
	outcomes, err := s.send(messages)
	if err != nil {
		return nil, err
	}
	answer.Successful = make([]sentEntry, 0, len(messages))
	for i, entry := range fine {
		if refusal := outcomes[i].Err; refusal != nil {
			answer.Failed = append(answer.Failed, s.refused(refusal).failed(entry.ID))
			continue
		}
		answer.Successful = append(answer.Successful, sentEntry{ID: entry.ID, sent: entry.sent(&messages[i], &outcomes[i])})
	}
	return answer, nil
}

// checkBatch says what is wrong with the batch as a whole; nil if nothing is.
func (s *sending) checkBatch(entries []sendMessageEntry) *fault {
	if f := checkEntries("SendMessageBatchRequestEntry", len(entries), func(i int) string { return entries[i].ID }); f != nil {
		return f
	}
	size := int64(0)
	for i := range entries {
		size += entries[i].size()
	}
	if size > maxBatchBytes {
		return batchRequestTooLong.is("Batch requests cannot be longer than " + strconv.Itoa(maxBatchBytes) +
			" bytes. You have sent " + strconv.FormatInt(size, 10) + " bytes.")
	}
	for i := range entries {
		if f := s.checkOrder(&entries[i].outgoing); f != nil {
			return f
		}
	}
	return nil
}
