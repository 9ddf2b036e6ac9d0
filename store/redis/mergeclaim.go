package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

// claimKind is what claims have in common that may share a script.
type claimKind struct {
	part     part
	queue    store.QueueID
	revision uint64
}

// claimsTogether says that a claim may share a script with others: one that may be repeated, or of which the leases end at
// once, is a matter of its own.
func claimsTogether(p store.ClaimParams) bool { return p.Attempt == [16]byte{} && p.Visibility > 0 }

// claimTogether makes several claims of a kind, in one script unless they give too much for that. What time changes next is
// as it is after all of one script.
func claimTogether(ctx context.Context, kind claimKind, calls []store.ClaimParams) ([]claimed, error) {
	ctx = context.WithoutCancel(ctx)
	list := make([]claimed, 0, len(calls))
	for len(list) < len(calls) {
		list = append(list, kind.part.claimAlone(ctx, calls[len(list):])...)
	}
	return list, nil
}
