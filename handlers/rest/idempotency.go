package rest

import (
	"fmt"
	"net/http"

	"github.com/dabba-mq/dabba/engine"
)

const idempotencyHeader = "Idempotency-Key"

// idempotencyKey is the request's key, or nil. It holds for this principal on this path.
func (a *API) idempotencyKey(r *http.Request) (*engine.IdempotencyKey, error) {
	given := r.Header[idempotencyHeader]
	if len(given) == 0 {
		return nil, nil
	}
	if len(given) > 1 || given[0] == "" || len(given[0]) > engine.MaxKeyBytes {
		return nil, invalid(idempotencyHeader,
			fmt.Sprintf("The header %s must be given once, with 1 to %d characters.", idempotencyHeader, engine.MaxKeyBytes))
	}
	return &engine.IdempotencyKey{
		Principal: a.principal(r).Subject,
		Path:      r.URL.Path,
		Key:       given[0],
	}, nil
}
