package rest

import (
	"net/http"

	"github.com/dabba-mq/dabba/engine"
)

// acksParameter is the query parameter of calls that may wait for copies.
const acksParameter = "acks"

// askedAcks is what a request, whose query was found to be sound, says of them; the engine judges it.
func askedAcks(r *http.Request) engine.Acks {
	if r.URL.RawQuery == "" {
		return ""
	}
	return engine.Acks(r.URL.Query().Get(acksParameter))
}
