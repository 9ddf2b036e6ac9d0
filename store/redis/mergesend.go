package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// sendKind is what sends have in common that may share a script.
type sendKind struct {
	part     part
	queue    store.QueueID
	revision uint64
	acks     store.Acks
}

func (s part) sendKind(p store.SendParams) sendKind { return sendKind{s, p.Queue, p.Revision, p.Acks} }

// mergeable says that a send may share a script with others: one that is remembered, or refused as a whole, is a matter of
// its own.
func mergeable(p store.SendParams, b burden) bool { return p.Once == nil && !p.Whole && b.small() }

func sendBurden(p store.SendParams) burden {
	b := burden{items: len(p.Entries)}
	for i := range p.Entries {
		b.bytes += len(p.Entries[i].Payload)
	}
	return b
}

// sendTogether makes several sends of a kind in one script.
func sendTogether(ctx context.Context, kind sendKind, calls []store.SendParams) ([]store.SendResult, error) {
	sizes := make([]int, len(calls))
	p := calls[0]
	p.Entries = slices.Clip(p.Entries) // they are the caller's
	for i := range calls {
		sizes[i] = len(calls[i].Entries)
		if i > 0 {
			p.Entries = append(p.Entries, calls[i].Entries...)
		}
	}
	res, gaveWay, err := kind.part.sendAlone(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(calls) == 1 {
		return []store.SendResult{res}, nil
	}
	if res.Fates != nil && len(res.Fates) != len(p.Entries) {
		return nil, fmt.Errorf("%w: %d fates of %d entries", store.ErrCorrupt, len(res.Fates), len(p.Entries))
	}
	return splitSend(res, gaveWay, sizes), nil
}

// splitSend is the result of each of the sends that a script made one after the other, of which it knows the numbers of
// entries. gaveWay says how many messages gave way to each entry, nil if none did. What time changes next is as it is
// after all of them.
func splitSend(whole store.SendResult, gaveWay []int, sizes []int) []store.SendResult {
	list := make([]store.SendResult, len(sizes))
	next, from := whole.First, 0
	for i, n := range sizes {
		r := whole
		r.First, r.Count, r.Fates, r.Evicted = next, n, nil, 0
		if whole.Fates != nil {
			fates := whole.Fates[from : from+n : from+n]
			if r.Count = accepted(fates); r.Count < n {
				r.Fates = fates
			}
		}
		if gaveWay != nil {
			for _, k := range gaveWay[from : from+n] {
				r.Evicted += k
			}
		}
		list[i] = r
		next, from = next+store.Seq(r.Count), from+n
	}
	return list
}

func accepted(fates []store.Fate) int {
	n := 0
	for _, f := range fates {
		if f.Verdict == store.Accepted {
			n++
		}
	}
	return n
}
