package engine

import (
	"context"
	"fmt"
)

// TrimTopic removes the records of a partition that lie before a place, for ever, and says what is left.
func (e *Engine) TrimTopic(ctx context.Context, ref Ref, partition uint32, before Start) (PartitionState, error) {
	r := &reading{engine: e, ref: ref, req: ReadRequest{Partition: partition, Start: before}}
	if err := r.begin(ctx); err != nil {
		return PartitionState{}, err
	}
	left, err := e.store.Trim(ctx, r.topic.id, partition, r.offset)
	for reloads := 0; err != nil && isStale(err) && reloads < maxReloads; reloads++ {
		if err := r.renew(ctx); err != nil {
			return PartitionState{}, err
		}
		left, err = e.store.Trim(ctx, r.topic.id, partition, r.offset)
	}
	if err != nil {
		refused := *fromTopics(fmt.Errorf("trim topic %s: %w", ref, err))
		if refused.Field == "offset" {
			refused.Field = "before"
		}
		return PartitionState{}, &refused
	}
	return PartitionState{Partition: partition, PartitionBounds: boundsOf(left), Bytes: left.Bytes, Missing: left.Missing}, nil
}
