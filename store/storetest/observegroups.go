package storetest

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// kept is what an observer leaves of a workload's settings.
func (l workload) kept() store.Settings {
	return store.Settings{Mode: l.settings.Mode, DedupWindow: l.settings.DedupWindow}
}

// takeTurns claims and acknowledges all that can be had from a FIFO queue. While it holds messages of a group it looks
// whether anybody else is given some of the same.
func (o *observer) takeTurns(id store.QueueID, q *foundQueue) []store.Delivery {
	var list []store.Delivery
	p := store.ClaimParams{Queue: id, Revision: o.revision[id], MaxBytes: 1 << 30, Visibility: lease}
	for limit := 1; ; limit = limit%7 + 1 {
		p.Max = limit
		first, err := o.store.Claim(o.ctx, p)
		if !o.note(err) || len(first.Messages) == 0 {
			return list
		}
		second, err := o.store.Claim(o.ctx, p)
		o.note(err)
		o.note(apart(id, first, second))
		if q.token == 0 {
			q.token = first.Token
		}
		for _, r := range []store.ClaimResult{first, second} {
			if len(r.Messages) == 0 {
				continue
			}
			_, err := o.store.Settle(o.ctx, store.SettleParams{Queue: id, Revision: o.revision[id], Items: items(r, store.Done, 0)})
			if !o.note(err) {
				return list
			}
			list = append(list, r.Messages...)
		}
	}
}

// apart is an error when two receivers were given messages of one group.
func apart(id store.QueueID, a, b store.ClaimResult) error {
	held := make(map[string]store.Seq)
	for _, m := range a.Messages {
		held[m.Group] = m.Seq
	}
	for _, m := range b.Messages {
		if other, both := held[m.Group]; both {
			return fmt.Errorf("queue %x gave seq %d and, to another receiver, seq %d of group %q", uint64(id), other, m.Seq, m.Group)
		}
	}
	return nil
}

// dedupKeys are the deduplication keys that may have been used in a queue.
func (w *world) dedupKeys(id store.QueueID) []byte {
	used := make(map[byte]bool)
	for _, c := range w.clients {
		for _, l := range append([]*ledger{c.doubt, c.known}, c.before...) {
			if l != nil && l.queues[id] != nil {
				for key := range l.queues[id].dedup {
					used[key] = true
				}
			}
		}
	}
	var list []byte
	for key := range used {
		list = append(list, key)
	}
	return list
}
