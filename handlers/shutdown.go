package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/handlers/rest"
)

// Shutdown stops the servers without cutting anybody off: readiness turns red, receives that wait are answered with
// what there is, no new connections are taken, and requests under way are finished. When ctx ends first, what is left
// is cut off and the error says so. The engine and its store are the caller's to close, afterwards.
func Shutdown(ctx context.Context, ready *rest.Readiness, e *engine.Engine, servers ...*http.Server) error {
	ready.Stop()
	e.Drain()
	failed := make(chan error, len(servers))
	for _, server := range servers {
		go func() {
			err := server.Shutdown(ctx)
			if err != nil {
				err = errors.Join(err, server.Close())
			}
			failed <- err
		}()
	}
	var err error
	for range servers {
		err = errors.Join(err, <-failed)
	}
	return err
}
