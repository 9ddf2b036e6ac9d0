package rest

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"

	"github.com/dabba-mq/dabba/engine"
)

// plannedFields are fields that the API's contract has and this version does not. Whoever read of one is told so,
// rather than left to look for a typing mistake.
var plannedFields = map[reflect.Type][]string{
	reflect.TypeFor[NewMessage]():      {"transaction"},
	reflect.TypeFor[SendRequest]():     {"transaction"},
	reflect.TypeFor[AckRequest]():      {"transaction"},
	reflect.TypeFor[TopicConfig]():     {"segment_bytes"},
	reflect.TypeFor[TopicCompaction](): {"delete_retention", "min_lag"},
	reflect.TypeFor[ProduceRequest]():  {"transaction"},
}

func planned(of reflect.Type, field string) bool { return slices.Contains(plannedFields[of], field) }

// plannedPaths are the same for calls.
var plannedPaths = regexp.MustCompile(`^/v1/(topics/[^/]+/(keys|events|groups|partitions|compact|subscriptions)|transactions)(/|$)|^/console(/|$)`)

// NotFound answers a path that is no route.
func (a *API) NotFound(_ http.ResponseWriter, r *http.Request) error {
	detail := "There is nothing at this path; /docs lists all calls."
	if plannedPaths.MatchString(r.URL.Path) {
		detail = "This call is planned but not built yet; /docs lists those that are."
	}
	return &engine.Error{Code: engine.CodeNotFound, Detail: detail, Outcome: engine.NotApplied}
}
