package rest

import (
	"net/http"
	"strings"
)

// quoted is an ETag as the header has it.
func quoted(etag string) string { return `"` + etag + `"` }

// ifMatch is the request's precondition: "", "*" or an ETag without its quotes. A weak ETag never matches (RFC 9110,
// section 13.1.1), so it is passed on as it is, to match nothing.
func ifMatch(r *http.Request) (string, error) {
	given := r.Header[ifMatchField]
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1 || strings.Contains(given[0], ","):
		return "", invalid(ifMatchField, "Give one ETag, the one the queue was last seen with.")
	}
	tag := strings.TrimSpace(given[0])
	if tag == "*" || strings.HasPrefix(tag, "W/") {
		return tag, nil
	}
	inner, ok := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if !ok || !closed || inner == "" || inner == "*" {
		return "", invalid(ifMatchField, "An ETag stands in quotes: give back the queue's ETag header as it was.")
	}
	return inner, nil
}
