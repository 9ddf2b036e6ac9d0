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
	b, f := s.sort(in.Entries)
	if f != nil || len(b.failed) > 0 {
		changed, err := s.renew()
		if err != nil {
			return nil, err
		}
		if changed {
			b, f = s.sort(in.Entries)
		}
	}
	if f != nil {
		return nil, f
	}
	answer := &sendMessageBatchAnswer{Failed: b.failed}
	messages, fine := b.messages, b.fine
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

// sorted are the entries of a batch: those that SQS takes, each with its message, and those that it refuses.
type sorted struct {
	messages []engine.Message
	fine     []*sendMessageEntry
	failed   []failedEntry
}

// sort looks at each entry, or says what is wrong with the batch as a whole.
func (s *sending) sort(entries []sendMessageEntry) (sorted, *fault) {
	if f := s.checkBatch(entries); f != nil {
		return sorted{}, f
	}
	b := sorted{
		messages: make([]engine.Message, 0, len(entries)),
		fine:     make([]*sendMessageEntry, 0, len(entries)),
	}
	for i := range entries {
		entry := &entries[i]
		m, f := s.message(&entry.outgoing)
		if f != nil {
			b.failed = append(b.failed, f.failed(entry.ID))
			continue
		}
		b.messages, b.fine = append(b.messages, m), append(b.fine, entry)
	}
	return b, nil
}

// checkBatch says what is wrong with the batch as a whole; nil if nothing is.
func (s *sending) checkBatch(entries []sendMessageEntry) *fault {
	if f := checkEntries("SendMessageBatchRequestEntry", len(entries), func(i int) string { return entries[i].ID }); f != nil {
		return f
	}
	for i := range entries {
		if f := checkLists("SendMessageBatch", &entries[i].outgoing); f != nil {
			return f
		}
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
