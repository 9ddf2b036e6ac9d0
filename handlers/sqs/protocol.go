package sqs

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"
)

const (
	jsonType  = "application/x-amz-json-1.0"
	xmlType   = "text/xml"
	plainJSON = "application/json"
	formType  = "application/x-www-form-urlencoded"
	// laterJSONType is that of a later version, which clients confuse with this one.
	laterJSONType = "application/x-amz-json-1.1"
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
	targeted := r.Header[targetHeader] != nil
	switch labelOf(r) {
	case amazonLabel:
		return newJSON(r, body)
	case jsonLabel:
		if targeted || !Asks(r) { // Query has no such label, but its parameters in the URL are enough for it
			return newJSON(r, body)
		}
	case formLabel, noLabel:
		// Some clients send the target with Query, too. A body that begins like JSON is JSON whatever its label says.
		q := newQuery(r, body)
		if !targeted || q.action != "" && !beginsObject(body) || body == nil && labelOf(r) == formLabel {
			return q
		}
		return newJSON(r, body)
	}
	return newQuery(r, body)
}

// label is what a request's Content-Type makes of its protocol.
type label uint8

const (
	noLabel label = iota // none, or one that neither protocol has
	amazonLabel
	jsonLabel
	formLabel
)

func labelOf(r *http.Request) label {
	given := r.Header.Get("Content-Type")
	if given == jsonType {
		return amazonLabel
	}
	media, _, err := mime.ParseMediaType(given)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return noLabel
	}
	switch media {
	case jsonType, laterJSONType:
		return amazonLabel
	case plainJSON:
		return jsonLabel
	case formType:
		return formLabel
	}
	return noLabel
}

// beginsObject says whether a body begins as an object of JSON does.
func beginsObject(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
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
