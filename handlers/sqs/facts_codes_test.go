package sqs

import (
	"net/http"
	"strings"
	"testing"
)

func TestFact003NoOtherOperations(t *testing.T) {
	t.Parallel()
	if n := len(operations); n != 23 {
		t.Errorf("there are %d operations, want 23", n)
	}
}

func TestFact013CodesWithAPrefix(t *testing.T) {
	t.Parallel()
	for k, want := range map[*kind]string{
		batchEntryIDsNotDistinct:     "BatchEntryIdsNotDistinct",
		batchRequestTooLong:          "BatchRequestTooLong",
		emptyBatchRequest:            "EmptyBatchRequest",
		invalidBatchEntryID:          "InvalidBatchEntryId",
		messageNotInflight:           "MessageNotInflight",
		purgeQueueInProgress:         "PurgeQueueInProgress",
		queueDeletedRecently:         "QueueDeletedRecently",
		nonExistentQueue:             "NonExistentQueue",
		tooManyEntriesInBatchRequest: "TooManyEntriesInBatchRequest",
		unsupportedOperation:         "UnsupportedOperation",
	} {
		status := http.StatusBadRequest
		if k == purgeQueueInProgress {
			status = http.StatusForbidden
		}
		if k.code != "AWS.SimpleQueueService."+want || k.status != status {
			t.Errorf("%s has the code %s and status %d, want %d", want, k.code, k.status, status)
		}
		if shape := strings.Replace(want, "NonExistentQueue", "QueueDoesNotExist", 1); k.shape != shape {
			t.Errorf("%s has the shape %s, want %s", want, k.shape, shape)
		}
	}
}

func TestFact014CodesWithoutAPrefix(t *testing.T) {
	t.Parallel()
	for k, want := range map[*kind]struct {
		code   string
		status int
	}{
		invalidAttributeName:   {"InvalidAttributeName", http.StatusBadRequest},
		invalidAttributeValue:  {"InvalidAttributeValue", http.StatusBadRequest},
		invalidMessageContents: {"InvalidMessageContents", http.StatusBadRequest},
		receiptHandleIsInvalid: {"ReceiptHandleIsInvalid", http.StatusBadRequest},
		invalidIDFormat:        {"InvalidIdFormat", http.StatusBadRequest},
		overLimit:              {"OverLimit", http.StatusForbidden},
		resourceNotFound:       {"ResourceNotFoundException", http.StatusNotFound},
	} {
		if k.code != want.code || k.shape != want.code || k.status != want.status {
			t.Errorf("%s has the shape %s and status %d, want %+v", k.code, k.shape, k.status, want)
		}
	}
}
