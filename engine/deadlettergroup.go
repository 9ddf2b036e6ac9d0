package engine

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// DeadLetterGroup makes all messages of a group dead and says how many that were. They move to the dead-letter queue, if there
// is one: the first of them before it returns, very many in the background.
func (e *Engine) DeadLetterGroup(ctx context.Context, ref Ref, group, reason string) (int, error) {
	if err := e.followGroups(ctx, ref, func(*queue, *setup) error { return nil }); err != nil {
		return 0, err
	}
	got, err := e.settleAll(ctx, ref,
		store.Selection{Group: &group, States: store.StateReady | store.StateDelayed | store.StateLeased},
		store.SettleItem{Target: store.Dead, Reason: cut(reason, MaxReasonBytes)})
	return got.settled + got.died, err
}
