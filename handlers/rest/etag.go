package rest

import (
	"net/http"
	"strings"

	"github.com/dabba-mq/dabba/engine"
)

// The headers of preconditions, which are also the fields of the refusals about them.
const (
	ifMatchField     = "If-Match"
	ifNoneMatchField = "If-None-Match"
)

// quoted is an ETag as the header has it.
func quoted(etag string) string { return `"` + etag + `"` }

// precondition is what a request that changes a queue asks of it. A weak ETag never matches (RFC 9110, section 13.1.1),
// so it is passed on as it is, to match nothing.
func precondition(r *http.Request) (engine.Condition, error) {
	absent, err := ifNoneMatch(r)
	if err != nil {
		return engine.Condition{}, err
	}
	match, err := ifMatch(r)
	if err != nil {
		return engine.Condition{}, err
	}
	if absent && match != "" {
		return engine.Condition{}, invalid(ifNoneMatchField, "Give either If-Match or If-None-Match, not both.")
	}
	return engine.Condition{Match: match, Absent: absent}, nil
}

// queueCondition is [precondition] for the configuration of a queue, with what the caller may do with other queues.
func (a *API) queueCondition(r *http.Request) (engine.Condition, error) {
	only, err := precondition(r)
	p := a.principal(r)
	only.MaySend = func(queue string) error { return p.Require("queues", "send", queue) }
	only.MayRead = func(queue string) bool { return p.Allows("queues", "read", queue) }
	return only, err
}

// ifNoneMatch says whether the queue must not exist: of a change, a client can only mean that.
func ifNoneMatch(r *http.Request) (bool, error) {
	given := r.Header[ifNoneMatchField]
	switch {
	case len(given) == 0:
		return false, nil
	case len(given) > 1 || strings.TrimSpace(given[0]) != "*":
		return false, invalid(ifNoneMatchField, "Give * here, for a queue that must not exist yet; use If-Match for an ETag.")
	}
	return true, nil
}

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

// unchanged answers 304 if the client has seen this ETag already (RFC 9110, section 13.1.2), and says whether it did.
func unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	for _, header := range r.Header[ifNoneMatchField] {
		for tag := range strings.SplitSeq(header, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == quoted(etag) {
				w.Header().Set("ETag", quoted(etag))
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}
