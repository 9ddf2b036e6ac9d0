package engine

import "context"

// PurgeGroup removes all messages of a group, in whatever state, and says how many that were.
func (e *Engine) PurgeGroup(ctx context.Context, ref Ref, group string) (int64, error) {
	if err := e.followGroups(ctx, ref, func(*queue, *setup) error { return nil }); err != nil {
		return 0, err
	}
	return e.Purge(ctx, ref, Filter{Group: &group})
}
