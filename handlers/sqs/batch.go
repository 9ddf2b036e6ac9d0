package sqs

import "strconv"

const (
	// maxEntries is the most a batch may have, of any operation.
	maxEntries = 10
	// maxLabel is how long the id of an entry and the label of a permission may be.
	maxLabel = 80
)

// checkEntries says what is wrong with a batch as a whole; nil if nothing is. kind is what SQS calls its entries.
func checkEntries(kind string, n int, id func(i int) string) *fault {
	switch {
	case n == 0:
		return emptyBatchRequest.is("There should be at least one " + kind + " in the request.")
	case n > maxEntries:
		return tooManyEntriesInBatchRequest.is("Maximum number of entries per request are " + strconv.Itoa(maxEntries) +
			". You have sent " + strconv.Itoa(n) + ".")
	}
	for i := range n {
		if !isLabel(id(i)) {
			return invalidBatchEntryID.is("A batch entry id can only contain alphanumeric characters, hyphens and underscores. " +
				"It can be at most 80 letters long.")
		}
	}
	for i := range n {
		for j := range i {
			if id(i) == id(j) {
				return batchEntryIDsNotDistinct.is("Id " + id(i) + " repeated.")
			}
		}
	}
	return nil
}

// isLabel says whether an entry of a batch, or a permission, can be called s.
func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// failed is the fault of one entry, whose siblings go on.
func (f *fault) failed(id string) failedEntry {
	return failedEntry{ID: id, SenderFault: f.sender() == "Sender", Code: f.code, Message: f.message}
}
