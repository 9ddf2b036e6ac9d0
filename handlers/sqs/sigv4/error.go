package sigv4

import "net/http"

// Error is a refusal in the words of AWS, which SDKs act on.
type Error struct {
	// Code is what the Query protocol and the header x-amzn-query-error call it.
	Code string
	// Shape is what the JSON protocol calls it in __type.
	Shape string
	// Status is the HTTP status.
	Status int
	// Message is for a person. It contains no secret and no signature.
	Message string
}

func (e *Error) Error() string { return e.Message }

var (
	// ErrAbsent is returned by [Parse] for a request that is not signed at all.
	ErrAbsent = &Error{
		Code:    "MissingAuthenticationToken",
		Shape:   "MissingAuthenticationTokenException",
		Status:  http.StatusForbidden,
		Message: "Request is missing Authentication Token",
	}
	// ErrUnknownKey is the answer to an access key id that nobody has.
	ErrUnknownKey = &Error{
		Code:    "InvalidClientTokenId",
		Shape:   "UnrecognizedClientException",
		Status:  http.StatusForbidden,
		Message: "The security token included in the request is invalid.",
	}
	// errWrong does not say what differs: a forger would learn from it.
	errWrong = mismatch("The request signature we calculated does not match the signature you provided. " +
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
)

// malformed refuses something that is meant as a signature and is none.
func malformed(message string) *Error {
	return &Error{Code: "IncompleteSignature", Shape: "IncompleteSignatureException", Status: http.StatusBadRequest, Message: message}
}

// mismatch refuses a signature that is not one of this request, here and now.
func mismatch(message string) *Error {
	return &Error{Code: "SignatureDoesNotMatch", Shape: "InvalidSignatureException", Status: http.StatusForbidden, Message: message}
}

func requestExpired(message string) *Error {
	return &Error{Code: "RequestExpired", Shape: "RequestExpired", Status: http.StatusForbidden, Message: message}
}
