package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// Names lists the names of the tenant's queues as [Engine.Queues] does, without a look at their messages.
func (e *Engine) Names(ctx context.Context, tenant, prefix, after string, limit int) ([]string, error) {
	start := ""
	if after != "" {
		start = tenantPrefix(tenant) + after
	}
	names, err := listed(ctx, e, tenantPrefix(tenant)+prefix, start, limit, func(p store.Pair) (string, error) {
		ref, err := refOfKey(p.Key)
		return ref.Name, err
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("list the names of the queues of %s: %w", tenant, err))
	}
	return names, nil
}

// Feeders are the names of the queues that name this one as their dead-letter queue, by name.
func (e *Engine) Feeders(ctx context.Context, ref Ref) ([]string, error) {
	if err := e.refreshIfShared(ctx); err != nil {
		return nil, err
	}
	if _, _, err := e.current(ctx, ref); err != nil {
		return nil, err
	}
	var names []string
	for _, q := range e.catalog.feedersOf(ref) {
		names = append(names, q.ref.Name)
	}
	slices.Sort(names)
	return names, nil
}
