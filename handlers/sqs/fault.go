package sqs

import (
	"context"
	"errors"
	"net/http"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/browser"
	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// fault is an error as the wire answers it.
type fault struct {
	*kind
	message string
	// queryMessage replaces the message in the Query protocol, where AWS has other words.
	queryMessage string
}

func (f *fault) Error() string { return f.code + ": " + f.message }

// sender says whose fault it is, in the words of AWS.
func (f *fault) sender() string {
	if f.status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

// kind is one row of the table of faults. The code is that of the Query protocol and of the x-amzn-query-error header, the
// shape is the __type of the JSON protocol.
type kind struct {
	status      int
	code, shape string
}

const (
	// prefix is that of most codes.
	prefix = "AWS.SimpleQueueService."
	// common begins the shapes that are not of SQS itself; the protocol adds the namespace of those that are.
	common = "com.amazon.coral.service#"
)

// The table of faults. What this wire has no occasion for is there, too, so that it is the whole list of SQS: messageNotInflight
// and invalidIDFormat.
var (
	batchEntryIDsNotDistinct     = &kind{http.StatusBadRequest, prefix + "BatchEntryIdsNotDistinct", "BatchEntryIdsNotDistinct"}
	batchRequestTooLong          = &kind{http.StatusBadRequest, prefix + "BatchRequestTooLong", "BatchRequestTooLong"}
	emptyBatchRequest            = &kind{http.StatusBadRequest, prefix + "EmptyBatchRequest", "EmptyBatchRequest"}
	invalidBatchEntryID          = &kind{http.StatusBadRequest, prefix + "InvalidBatchEntryId", "InvalidBatchEntryId"}
	messageNotInflight           = &kind{http.StatusBadRequest, prefix + "MessageNotInflight", "MessageNotInflight"}
	nonExistentQueue             = &kind{http.StatusBadRequest, prefix + "NonExistentQueue", "QueueDoesNotExist"}
	purgeQueueInProgress         = &kind{http.StatusForbidden, prefix + "PurgeQueueInProgress", "PurgeQueueInProgress"}
	queueDeletedRecently         = &kind{http.StatusBadRequest, prefix + "QueueDeletedRecently", "QueueDeletedRecently"}
	tooManyEntriesInBatchRequest = &kind{http.StatusBadRequest, prefix + "TooManyEntriesInBatchRequest", "TooManyEntriesInBatchRequest"}
	unsupportedOperation         = &kind{http.StatusBadRequest, prefix + "UnsupportedOperation", "UnsupportedOperation"}

	invalidAddress         = &kind{http.StatusBadRequest, "InvalidAddress", "InvalidAddress"}
	invalidAttributeName   = &kind{http.StatusBadRequest, "InvalidAttributeName", "InvalidAttributeName"}
	invalidAttributeValue  = &kind{http.StatusBadRequest, "InvalidAttributeValue", "InvalidAttributeValue"}
	invalidIDFormat        = &kind{http.StatusBadRequest, "InvalidIdFormat", "InvalidIdFormat"}
	invalidMessageContents = &kind{http.StatusBadRequest, "InvalidMessageContents", "InvalidMessageContents"}
	invalidParameterValue  = &kind{http.StatusBadRequest, "InvalidParameterValue", "InvalidParameterValueException"}
	missingParameter       = &kind{http.StatusBadRequest, "MissingParameter", "MissingRequiredParameterException"}
	overLimit              = &kind{http.StatusForbidden, "OverLimit", "OverLimit"}
	queueNameExists        = &kind{http.StatusBadRequest, "QueueAlreadyExists", "QueueNameExists"}
	receiptHandleIsInvalid = &kind{http.StatusBadRequest, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid"}
	requestThrottled       = &kind{http.StatusForbidden, "RequestThrottled", "RequestThrottled"}
	resourceNotFound       = &kind{http.StatusNotFound, "ResourceNotFoundException", "ResourceNotFoundException"}

	// These are not of SQS but of what stands before every service of AWS.
	accessDenied         = &kind{http.StatusForbidden, "AccessDenied", common + "AccessDeniedException"}
	internalFailure      = &kind{http.StatusInternalServerError, "InternalFailure", common + "InternalFailure"}
	invalidAction        = &kind{http.StatusBadRequest, "InvalidAction", common + "UnknownOperationException"}
	misdirectedRequest   = &kind{http.StatusMisdirectedRequest, "InvalidAddress", "InvalidAddress"}
	malformedRequest     = &kind{http.StatusBadRequest, "MalformedInput", common + "SerializationException"}
	methodNotAllowed     = &kind{http.StatusMethodNotAllowed, "MethodNotAllowed", common + "MethodNotAllowedException"}
	requestEntityTooLong = &kind{http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", common + "RequestEntityTooLarge"}
	serviceUnavailable   = &kind{http.StatusServiceUnavailable, "ServiceUnavailable", common + "ServiceUnavailable"}
	unknownPath          = &kind{http.StatusNotFound, "InvalidAddress", "InvalidAddress"}
	unknownOperation     = &kind{http.StatusNotFound, "UnknownOperation", common + "UnknownOperationException"}
)

// is makes a fault of the kind. What its message repeats of a request may be as large as that, and would be in memory for as
// long as the client takes to read it: so a message ends where none of ours is longer.
func (k *kind) is(message string) *fault {
	const most = 8 * maxRepeated
	return &fault{kind: k, message: cut(message, most)}
}

func missing(parameter string) *fault {
	return missingParameter.is("The request must contain the parameter " + parameter + ".")
}

// invalidValue is the usual form in which AWS refuses a value.
func invalidValue(value, parameter, reason string) *fault {
	return invalidParameterValue.is("Value " + abridged(value) + " for parameter " + parameter + " is invalid. Reason: " + reason)
}

func noQueue() *fault {
	return &fault{
		kind:         nonExistentQueue,
		message:      "The specified queue does not exist.",
		queryMessage: "The specified queue does not exist for this wsdl version.",
	}
}

// faultOf is the one place where errors of the engine and of authentication become faults.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if bad, ok := errors.AsType[*sigv4.Error](err); ok {
		return (&kind{bad.Status, bad.Code, bad.Shape}).is(bad.Message)
	}
	if denied, ok := errors.AsType[*auth.Error](err); ok {
		if denied.Status == http.StatusServiceUnavailable {
			return serviceUnavailable.is(denied.Detail)
		}
		return accessDenied.is(denied.Detail)
	}
	e := engine.ErrorOf(err)
	if e.Code == engine.CodeInvalidRequest && e.Field == browser.HostField {
		return misdirectedRequest.is(e.Detail)
	}
	switch e.Code { // the others cannot come from a call made here, and are the server's fault if they do
	case engine.CodeNotFound:
		return noQueue()
	case engine.CodeReceiptInvalid:
		return receiptHandleIsInvalid.is("The input receipt handle is invalid.")
	case engine.CodeInvalidRequest, engine.CodeConflict, engine.CodeAlreadyExists, engine.CodeTooLarge, engine.CodeLeaseLost:
		return invalidParameterValue.is(e.Detail)
	case engine.CodeForbidden:
		return accessDenied.is(e.Detail)
	case engine.CodeQueueFull, engine.CodePaused:
		return requestThrottled.is(e.Detail)
	case engine.CodeUnavailable, engine.CodeStorageFull:
		if errors.Is(err, context.Canceled) || e.RetryAfter > 0 {
			return serviceUnavailable.is(e.Detail)
		}
		return internalFailure.is(e.Detail)
	default:
		return internalFailure.is(e.Detail)
	}
}

// isNotFound says that there is no such queue, or whatever else the engine was asked for.
func isNotFound(err error) bool { return err != nil && engine.ErrorOf(err).Code == engine.CodeNotFound }
