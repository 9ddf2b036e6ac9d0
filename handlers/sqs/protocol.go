package sqs

import (
	"mime"
	"net/http"
	"strings"
)

const (
	jsonType  = "application/x-amz-json-1.0"
	xmlType   = "text/xml"
	plainJSON = "application/json"
	// target is what the operation's name follows in the header that names it.
	target = "AmazonSQS."
	// targetHeader is in canonical form.
	targetHeader = "X-Amz-Target"
)

// maxValues bounds what a request may consist of: parameters, or values of JSON. A batch of ten messages with ten
// attributes each has a few hundred. Each takes much more memory than the few bytes it may have in the request.
const maxValues = 10_000

// newProtocol finds out which protocol a request is in. It shares memory with the body, which must be whole by then; nil
// is for a request that could not be read.
func newProtocol(r *http.Request, body []byte) protocol {
	if r.Header[targetHeader] != nil || isJSON(r) {
		return newJSON(r, body)
	}
	return newQuery(r, body)
}

func isJSON(r *http.Request) bool {
	given := r.Header.Get("Content-Type")
	if given == jsonType {
		return true
	}
	media, _, err := mime.ParseMediaType(given)
	return err == nil && media == jsonType
}

// tooManyValues is about a request of more than [maxValues].
func tooManyValues() *fault {
	return malformedRequest.is("The request has more than 10000 values; split it into several.")
}

// unknownAction is about an operation that there is none of, or none at this path.
func unknownAction(name string) *fault {
	return invalidAction.is("The action " + strings.ToValidUTF8(abridged(name), "\ufffd") + " is not valid for this endpoint.")
}

// maxRepeated is the most bytes of a text from a request that an answer repeats: names, ids and handles are shorter.
const maxRepeated = 512

// abridged is a text from a request, fit to be repeated in an answer.
func abridged(s string) string { return cut(s, maxRepeated) }

// cut is the beginning of a text, with a sign that there was more of it.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
