package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

// Code is the machine-readable kind of an error. The set is closed and part of the HTTP contract.
type Code string

// The codes the engine itself gives. Wires add those that concern a request as such (unknown_field,
// unauthenticated, forbidden).
const (
	CodeInvalidRequest       Code = "invalid_request"
	CodeUnknownField         Code = "unknown_field"
	CodeNotFound             Code = "not_found"
	CodeAlreadyExists        Code = "already_exists"
	CodeConflict             Code = "conflict"
	CodeLeaseLost            Code = "lease_lost"
	CodeReceiptInvalid       Code = "receipt_invalid"
	CodeOffsetTrimmed        Code = "offset_trimmed"
	CodeOffsetOutOfRange     Code = "offset_out_of_range"
	CodeTooLarge             Code = "too_large"
	CodeQueueFull            Code = "queue_full"
	CodePaused               Code = "paused"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"
	CodeUnauthenticated      Code = "unauthenticated"
	CodeForbidden            Code = "forbidden"
	CodeUnavailable          Code = "unavailable"
	CodeStorageFull          Code = "storage_full"
)

// Outcome says what a failed request did, so that a client knows whether repeating it is safe.
type Outcome string

// The outcomes.
const (
	NotApplied Outcome = "not_applied"
	Applied    Outcome = "applied"
	Unknown    Outcome = "unknown"
)

// Error is every error the engine returns. Values may be shared: do not change them.
type Error struct {
	Code Code
	// Field names the part of the request at fault, as in "retry.base" or "messages[3].body"; often empty.
	Field string
	// Detail tells a person what to do next.
	Detail  string
	Outcome Outcome
	// RetryAfter is set when repeating later may help.
	RetryAfter time.Duration
	// Bounds are those of the partition, for an offset that does not fit.
	Bounds *PartitionBounds

	cause error
}

// Error is for logs: code, field, detail and cause.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Field != "" {
		s += " " + e.Field
	}
	s += ": " + e.Detail
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap gives the cause, which a client must not see.
func (e *Error) Unwrap() error { return e.cause }

// ErrorOf finds the Error in err; an error of another kind becomes unavailable with an unknown outcome.
func ErrorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if short, ok := errors.AsType[*memlimit.Error](err); ok {
		return outOfMemory(short)
	}
	return &Error{
		Code: CodeUnavailable, Outcome: Unknown, RetryAfter: time.Second, cause: err,
		Detail: "The server failed; look at its log for this request.",
	}
}

// outOfMemory refuses what the memory of requests has no room for.
func outOfMemory(short *memlimit.Error) *Error {
	e := &Error{Code: CodeUnavailable, Outcome: NotApplied, RetryAfter: time.Second, cause: short}
	if !short.Never {
		e.Detail = "The server has too much in memory for other requests; repeat this one shortly, or ask for less at a time."
		return e
	}
	e.Code, e.RetryAfter = CodeTooLarge, 0
	e.Detail = fmt.Sprintf("This needs about %d MiB of the server's memory, of which all requests together may take %d MiB: "+
		"send less at a time, or give the server more (the memory limit of its container, or GOMEMLIMIT).",
		short.Need>>20+1, short.Limit>>20)
	return e
}

// keepsTooMuch refuses what would have to be kept: messages in a store that has them in memory, or what is known of each.
func keepsTooMuch() *Error {
	return &Error{
		Code: CodeStorageFull, Outcome: NotApplied, RetryAfter: 5 * time.Second,
		Detail: "What queues and topics keep takes too much of the server's memory; consume messages, or give the server more " +
			"(the memory limit of its container, or GOMEMLIMIT).",
	}
}

func invalid(field, detail string) *Error {
	return &Error{Code: CodeInvalidRequest, Field: field, Detail: detail, Outcome: NotApplied}
}

func conflict(field, detail string) *Error {
	return &Error{Code: CodeConflict, Field: field, Detail: detail, Outcome: NotApplied}
}

func notFound(ref Ref) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: "There is no queue named " + ref.Name + "; create it first.",
	}
}

// unlisted is notFound for those who look after queues: creating one in order to delete it is no advice.
func unlisted(ref Ref) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: "There is no queue named " + ref.Name + "; the list of queues has all names.",
	}
}

// Shared, since a batch may need many of them.
var (
	errLeaseLost = &Error{
		Code: CodeLeaseLost, Outcome: NotApplied,
		Detail: "The lease has ended or the message was taken since; receive it again.",
	}
	// errOrderLost is errLeaseLost on a FIFO queue, where the end of the lease alone is enough.
	errOrderLost = &Error{
		Code: CodeLeaseLost, Outcome: NotApplied,
		Detail: "The lease has ended. On a FIFO queue the message may be given to another receiver from then on, " +
			"so this receipt settles nothing; receive it again, and extend leases in time.",
	}
	errReceiptInvalid = &Error{
		Code: CodeReceiptInvalid, Outcome: NotApplied,
		Detail: "This is not a receipt of this queue; use the one from the last receive.",
	}
)

// withOutcome is err, if it is one, of a call that had changed something before it failed.
func withOutcome(o Outcome, err error) error {
	if err == nil {
		return nil
	}
	e := *fromStore(err)
	e.Outcome = o
	return &e
}

// fromStore is the one place where errors of the store become errors of the engine.
func fromStore(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if short, ok := errors.AsType[*memlimit.Error](err); ok {
		return outOfMemory(short)
	}
	e := &Error{Code: CodeUnavailable, Outcome: NotApplied, RetryAfter: time.Second, cause: err}
	switch {
	case errors.Is(err, store.ErrUnknown):
		e.Outcome = Unknown
		e.Detail = "It is not known whether this was done and will stay: what keeps the messages failed meanwhile, or has fewer copies of it " +
			"than were asked for. Repeat it, with the same Idempotency-Key if it has one."
	case errors.Is(err, store.ErrFull):
		e.Code = CodeStorageFull
		e.RetryAfter = 5 * time.Second
		e.Detail = "There is no room for more; free space on the disk, or in the memory of Redis, or consume messages, then repeat."
	case errors.Is(err, store.ErrTooLarge):
		e.Code, e.RetryAfter = CodeTooLarge, 0
		e.Detail = "The request is more than can be stored at once; send fewer or smaller messages."
	case errors.Is(err, store.ErrKeyReused):
		e.Code, e.RetryAfter = CodeIdempotencyKeyReused, 0
		e.Detail = "This idempotency key was used with another request; use a new one."
	case errors.Is(err, store.ErrGone):
		e.Code, e.RetryAfter = CodeNotFound, 0
		e.Detail = "The queue was deleted."
	case errors.Is(err, store.ErrStaleConfig), errors.Is(err, store.ErrConflict):
		e.Detail = "The queue's configuration is changing; repeat the request."
	case errors.Is(err, store.ErrUnavailable):
		e.Detail = "What keeps the messages cannot be reached now; repeat the request later."
	case errors.Is(err, store.ErrClosed):
		e.Detail = "The server is stopping; repeat the request elsewhere or later."
	case errors.Is(err, store.ErrCorrupt):
		e.RetryAfter = 0
		e.Detail = "Stored data is damaged: the server's log says what. Run dabba fsck on a data folder; in Redis restore or remove the key that it names."
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Detail = "The request was given up before it was done; repeat it."
	default:
		// Not in the closed set of the contract, so nothing is known about what happened.
		e.Outcome = Unknown
		e.Detail = "The store failed; look at the server's log for this request."
	}
	return e
}
