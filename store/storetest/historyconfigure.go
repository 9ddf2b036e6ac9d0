package storetest

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

func (w *historyWorld) prepareConfigure(d drawer, q store.QueueID, all bool) (string, doer) {
	if len(w.queues) < queueCount {
		w.created++
		q = w.created * 0x9E3779B97F4A7C15
		w.queues = append(w.queues, q)
	}
	w.pending = q
	before := w.settings[q]
	// A queue is FIFO for all its life, if at all.
	fifo := before.Mode == store.FIFO || before.Revision == 0 && d.one(3)
	p := d.settings(fifo)
	if all {
		p = store.Settings{Mode: before.Mode}
	}
	p.Revision = before.Revision + 1
	if before.Revision > 0 && d.one(8) && !all {
		p.Revision = before.Revision // a repeat, which has no effect
	} else {
		w.settings[q] = p
	}
	return fmt.Sprintf("Configure(%x, %+v)", uint64(q), p), func(s *side) (any, error) {
		return "", s.store.Configure(w.ctx, q, p)
	}
}

func (w *historyWorld) prepareDrop(i int, q store.QueueID) (string, doer) {
	if len(w.queues) > 0 {
		i %= len(w.queues)
		w.queues = append(w.queues[:i:i], w.queues[i+1:]...)
	}
	return fmt.Sprintf("Drop(%x)", uint64(q)), func(s *side) (any, error) { return "", s.store.Drop(w.ctx, q) }
}
