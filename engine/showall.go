package engine

import (
	"context"
	"fmt"
)

// AllQueues lists the queues of all tenants, by tenant and name: for metrics, never for a tenant's eyes.
func (e *Engine) AllQueues(ctx context.Context) ([]Queue, error) {
	var all []Queue
	for after := ""; ; {
		pairs, err := e.store.List(ctx, catalogPrefix, after, pageSize)
		if err != nil {
			return nil, fromStore(fmt.Errorf("list the queues of all tenants: %w", err))
		}
		if all, err = e.showAll(ctx, all, pairs); err != nil {
			return nil, err
		}
		if len(pairs) < pageSize {
			return all, nil
		}
		after = pairs[len(pairs)-1].Key
	}
}
