package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// AllQueues lists the queues of all tenants, by tenant and name: for metrics, never for a tenant's eyes.
func (e *Engine) AllQueues(ctx context.Context) ([]Queue, error) {
	var all []Queue
	err := e.eachPair(ctx, catalogPrefix, pageSize, func(p store.Pair) error {
		q, err := e.showListed(ctx, p)
		switch {
		case err == nil:
			all = append(all, q)
		case ErrorOf(err).Code != CodeNotFound: // else it was deleted meanwhile
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("list the queues of all tenants: %w", err))
	}
	return all, nil
}
