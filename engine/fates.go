package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// fates turns what the store says about the entries of a send into outcomes of its messages.
type fates struct {
	engine *Engine
	queue  *queue
	setup  *setup
	first  store.Seq
	all    []store.Fate // nil if all were accepted
	repeat bool         // of an earlier send
	// full is why messages were refused, once it is known.
	full *Error
}

// outcomes fills in those that have no error yet: they had an entry each, in order.
func (f *fates) outcomes(ctx context.Context, all []SendOutcome) error {
	n := 0
	for i := range all {
		out := &all[i]
		if out.Err != nil {
			continue
		}
		if f.all == nil {
			f.named(out, f.first+store.Seq(n))
			n++
			continue
		}
		if n == len(f.all) {
			return f.mismatch(all)
		}
		f.outcome(ctx, out, f.all[n])
		n++
	}
	if f.all != nil && n != len(f.all) {
		return f.mismatch(all)
	}
	return nil
}

func (f *fates) mismatch(all []SendOutcome) error {
	return fromStore(fmt.Errorf("send to %s: %w: %d fates for %d messages", f.queue.ref, store.ErrCorrupt, len(f.all), len(all)))
}

func (f *fates) outcome(ctx context.Context, out *SendOutcome, fate store.Fate) {
	switch fate.Verdict {
	case store.Accepted:
		f.named(out, fate.Seq)
	case store.Duplicate:
		f.named(out, fate.Seq)
		out.Duplicate = true
	case store.Dropped:
		out.Dropped = true
	case store.Refused:
		if f.full == nil {
			f.full = f.engine.full(ctx, f.queue, &f.setup.config.Limits, f.repeat)
		}
		out.Err = f.full
	}
}

// named gives the outcome the id of a message that was sent to this queue, and on a FIFO queue its sequence.
func (f *fates) named(out *SendOutcome, seq store.Seq) {
	f.engine.ids().put(&out.ID, f.queue.id, seq)
	if f.setup.config.FIFO {
		out.Sequence = uint64(seq)
	}
}

// refused says whether any entry was.
func refused(all []store.Fate) bool {
	return slices.ContainsFunc(all, func(f store.Fate) bool { return f.Verdict == store.Refused })
}

// full says which bound refuses messages; of a repeat, that one did.
func (e *Engine) full(ctx context.Context, q *queue, l *Limits, repeat bool) *Error {
	if repeat {
		return errWasFull
	}
	err := &Error{Code: CodeQueueFull, Outcome: NotApplied, RetryAfter: time.Second}
	byBytes := l.MaxMessages == 0
	if l.MaxMessages > 0 && l.MaxBytes > 0 {
		// Both bounds are set. The counts are of a moment later, so they may name the wrong one of two that are close.
		stats, fail := e.store.Stats(ctx, q.id)
		byBytes = fail == nil && stats.Ready+stats.Delayed+stats.Leased < l.MaxMessages
	}
	if byBytes {
		err.Field = "limits.max_bytes"
		err.Detail = fmt.Sprintf("The queue is full: its max_bytes is %d. Consume messages or raise it, then send this again.", l.MaxBytes)
	} else {
		err.Field = "limits.max_messages"
		err.Detail = fmt.Sprintf("The queue is full: its max_messages is %d. Consume messages or raise it, then send this again.", l.MaxMessages)
	}
	return err
}
