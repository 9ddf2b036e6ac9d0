package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// settleKind is what settlements have in common that may share a script.
type settleKind struct {
	part     part
	queue    store.QueueID
	revision uint64
	strict   bool
	acks     store.Acks
}

func (s part) settleKind(p store.SettleParams) settleKind {
	return settleKind{s, p.Queue, p.Revision, p.Strict, p.Acks}
}

func settleBurden(p store.SettleParams) burden {
	b := burden{items: len(p.Items)}
	for i := range p.Items {
		b.bytes += len(p.Items[i].Reason)
	}
	return b
}

// settleTogether makes several settlements of a kind in one script. What time changes next is as it is after all of them.
func settleTogether(ctx context.Context, kind settleKind, calls []store.SettleParams) ([]store.SettleResult, error) {
	p := calls[0]
	p.Items = slices.Clip(p.Items) // they are the caller's
	for _, c := range calls[1:] {
		p.Items = append(p.Items, c.Items...)
	}
	res, err := kind.part.settleAlone(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(calls) == 1 {
		return []store.SettleResult{res}, nil
	}
	if len(res.Outcomes) != len(p.Items) {
		return nil, fmt.Errorf("%w: %d outcomes of %d items", store.ErrCorrupt, len(res.Outcomes), len(p.Items))
	}
	return splitSettle(res, calls), nil
}

func splitSettle(whole store.SettleResult, calls []store.SettleParams) []store.SettleResult {
	list, from := make([]store.SettleResult, len(calls)), 0
	for i := range calls {
		n := len(calls[i].Items)
		r := whole
		r.Outcomes = whole.Outcomes[from : from+n : from+n]
		list[i], from = r, from+n
	}
	return list
}
