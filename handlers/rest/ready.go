package rest

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// pingTime is how long the store may take to say that it is there.
const pingTime = 2 * time.Second

// Readiness says whether new requests should be sent here. The zero Readiness is green.
type Readiness struct{ stopping atomic.Bool }

// Stop makes readiness red for good, so that load balancers go elsewhere.
func (s *Readiness) Stop() { s.stopping.Store(true) }

// Ready says whether the store can serve and the server is not stopping.
//
// @Summary Say whether the server can serve
// @ID ready
// @Tags server
// @Produce json
// @Success 200 {object} Ready
// @Failure 503 {object} problem.Document
// @Router /readyz [get]
func (a *API) Ready(w http.ResponseWriter, r *http.Request) error {
	if a.readiness.stopping.Load() {
		return &engine.Error{
			Code:       engine.CodeUnavailable,
			Detail:     "The server is stopping; send requests to another one, or later.",
			Outcome:    engine.NotApplied,
			RetryAfter: time.Second,
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), pingTime)
	defer cancel()
	if err := a.engine.Ping(ctx); err != nil {
		return err
	}
	s := a.engine.StoreInfo()
	return reply(w, http.StatusOK, Ready{Status: "ready", Store: s.Name, Promise: s.Promise})
}
