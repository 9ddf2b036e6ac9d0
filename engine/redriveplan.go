package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// redrivePlan is what is in a queue for a redrive.
type redrivePlan struct {
	total, skipped int64
	byTarget       map[string]int64
	// targets are the queues to which messages go back or may have to, as leased ones do that are given back meanwhile.
	targets []string
}

// planBudget is one step of a count. Its bounds keep little in memory.
var planBudget = budget{matches: MaxBatch, answer: MaxAnswerBytes, payloads: MaxAnswerBytes, time: time.Second}

// planOrCount does not look at all messages if it is about all of them and one target.
func (e *Engine) planOrCount(ctx context.Context, q *queue, s sieve, to string) (redrivePlan, error) {
	sel := s.selection
	if to == "" || s.reads() || sel.Group != nil || sel.Seqs != nil || !sel.AvailableBefore.IsZero() {
		return e.planRedrive(ctx, q, s, to)
	}
	stats, err := e.store.Stats(ctx, q.id)
	if err != nil {
		return redrivePlan{}, fmt.Errorf("count %s: %w", q.ref, err)
	}
	var p redrivePlan
	for state, n := range map[store.States]int64{
		store.StateReady: stats.Ready, store.StateDelayed: stats.Delayed, store.StateDead: stats.Dead,
	} {
		if sel.States&state != 0 {
			p.total += n
		}
	}
	if p.total > 0 {
		p.byTarget = map[string]int64{to: p.total}
	}
	return p, nil
}

// planRedrive looks at all messages that it is about.
func (e *Engine) planRedrive(ctx context.Context, q *queue, s sieve, to string) (redrivePlan, error) {
	movable := s.selection.States
	if to == "" {
		s.selection.States = store.AnyState
	}
	from := make(map[string]int64)
	for next := store.Seq(1); next != 0; {
		c, err := e.scan(ctx, q, s, next, planBudget)
		if err != nil {
			return redrivePlan{}, err
		}
		for i := range c.views {
			name := to
			if to == "" {
				name = cameFrom(&c.views[i])
			}
			n := int64(0)
			if c.views[i].State&movable != 0 {
				n = 1
			}
			from[name] += n
		}
		next = c.next
	}
	return e.planOf(ctx, q, from)
}

// planOf tells the queues that there are from those that are no more.
func (e *Engine) planOf(ctx context.Context, q *queue, from map[string]int64) (redrivePlan, error) {
	p := redrivePlan{byTarget: make(map[string]int64)}
	for name, n := range from {
		to, err := e.redrivable(ctx, q, name)
		if err != nil {
			return redrivePlan{}, err
		}
		if to == nil {
			p.skipped += n
			continue
		}
		p.targets = append(p.targets, name)
		p.total += n
		if n > 0 {
			p.byTarget[name] = n
		}
	}
	return p, nil
}

// redrivable is the queue of that name, nil if there is none to which messages of q may go.
func (e *Engine) redrivable(ctx context.Context, q *queue, name string) (*queue, error) {
	if name == "" || name == q.ref.Name {
		return nil, nil
	}
	to, _, err := e.current(ctx, Ref{q.ref.Tenant, name})
	if err != nil && ErrorOf(err).Code == CodeNotFound {
		return nil, nil
	}
	return to, err
}

// lastSeq is the sequence of the newest message, 0 for an empty queue. The store is asked for a message from some
// sequence on, ever further, and then ever nearer to where there are none: a number of times that grows with the
// logarithm of the sequence, and not with the number of messages.
func (e *Engine) lastSeq(ctx context.Context, q *queue) (store.Seq, error) {
	last, err := e.firstFrom(ctx, q, 1)
	if err != nil || last == 0 {
		return 0, err
	}
	// There is a message at last, and none from beyond on once that is set.
	beyond := store.Seq(0)
	for step := store.Seq(1); beyond == 0; step *= 2 {
		found, err := e.firstFrom(ctx, q, last+step)
		if err != nil {
			return 0, err
		}
		if found == 0 {
			beyond = last + step
		} else {
			last = found
		}
	}
	for last+1 < beyond {
		middle := last + (beyond-last)/2
		found, err := e.firstFrom(ctx, q, middle)
		if err != nil {
			return 0, err
		}
		if found == 0 {
			beyond = middle
		} else {
			last = found
		}
	}
	return last, nil
}

// firstFrom is the first message from a sequence on, 0 if there is none.
func (e *Engine) firstFrom(ctx context.Context, q *queue, from store.Seq) (store.Seq, error) {
	for from != 0 {
		res, err := e.store.Scan(ctx, store.ScanParams{Queue: q.id, Select: store.Selection{From: from}, Limit: 1, MaxBytes: 1})
		if err != nil {
			return 0, fmt.Errorf("look for the newest message of %s: %w", q.ref, err)
		}
		if len(res.Views) > 0 {
			return res.Views[0].Seq, nil
		}
		from = res.Next
	}
	return 0, nil
}
