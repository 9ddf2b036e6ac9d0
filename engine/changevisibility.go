package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// glimpseBytes bounds what one look at messages reads that are only looked at for their state.
const glimpseBytes = 4 << 20

// ChangeVisibility hides messages for so long from now, as SQS has it. On a queue that is not FIFO a lease that has ended
// is begun again, without being counted, any receipt of the message will do, whoever holds it by now, and a visibility of 0
// makes it ready at once. On a FIFO queue the receipt's own lease must run, as for [Engine.Extend]. A message that is gone
// or dead is lease_lost. One that would be hidden for longer than within after the present delivery began, of which only
// whole seconds count, is an invalid request and stays as it is.
func (e *Engine) ChangeVisibility(ctx context.Context, ref Ref, items []ExtendItem, within time.Duration) ([]ItemResult, error) {
	if len(items) < 1 || len(items) > MaxBatch {
		return nil, invalid("", fmt.Sprintf("Give 1 to %d receipts; these are %d.", MaxBatch, len(items)))
	}
	var h *hiding
	looked := false
	err := e.follow(ctx, ref, func(q *queue, s *setup) error {
		if h == nil || h.queue != q {
			h = e.newHiding(q, s, items, within)
		}
		if len(h.wanted) < len(items) && !looked { // as in settle
			looked = true
			if err := e.confirm(ctx, q, s); err != nil {
				h = nil
				return err
			}
		}
		return e.hide(ctx, s, h)
	})
	if err != nil {
		return nil, err
	}
	done, lost := h.tally()
	tell(e.events.Extended, ref, done)
	tell(e.events.LeaseLost, ref, lost)
	e.buryNow(ctx, h.queue, h.died)
	return h.results, nil
}

// hiding is a change of visibilities under way. What is done stays done when the configuration changes meanwhile.
type hiding struct {
	settled
	within time.Duration
	// wanted are what is asked for, with the receipts' tokens, in the order of index; left are the numbers of those that
	// are not done.
	wanted []store.SettleItem
	left   []int
	died   int
}

func (e *Engine) newHiding(q *queue, s *setup, items []ExtendItem, within time.Duration) *hiding {
	h := &hiding{settled: settled{queue: q, results: make([]ItemResult, len(items))}, within: within}
	h.wanted = e.collect(&h.settled, &s.config, extension(items))
	h.left = make([]int, len(h.wanted))
	for i := range h.left {
		h.left[i] = i
	}
	h.outcomes = make([]store.Outcome, len(h.wanted))
	return h
}

// hide looks at the messages and settles them by what was seen of them, and again those that have changed in between.
func (e *Engine) hide(ctx context.Context, s *setup, h *hiding) error {
	for range maxPicks {
		if len(h.left) == 0 {
			return nil
		}
		seen, err := e.glimpse(ctx, h)
		if err != nil {
			return err
		}
		items, of := h.plan(s, seen, e.wall())
		if len(items) == 0 {
			return nil
		}
		res, err := e.store.Settle(ctx, store.SettleParams{
			Queue: h.queue.id, Revision: uint64(s.revision), Items: items, Strict: s.config.FIFO,
			Acks: s.copies(""),
		})
		if err != nil {
			return fmt.Errorf("change visibilities in %s: %w", h.queue.ref, err)
		}
		e.dueIn(h.queue, res.NextDue)
		h.left = h.left[:0]
		for i, o := range res.Outcomes {
			h.outcomes[of[i]] = o
			if o == store.Lost && !s.config.FIFO {
				h.left = append(h.left, of[i])
			}
			if o == store.Died {
				h.died++
			}
		}
	}
	return nil // those that are left change hands all the time: their outcome is Lost
}

// glimpse are the messages that are left, as they are now, by their sequences; those that have none are gone.
func (e *Engine) glimpse(ctx context.Context, h *hiding) (map[store.Seq]store.View, error) {
	seqs := make([]store.Seq, len(h.left))
	for i, n := range h.left {
		seqs[i] = h.wanted[n].Seq
	}
	slices.Sort(seqs)
	sel := store.Selection{Seqs: slices.Compact(seqs)}
	seen := make(map[store.Seq]store.View, len(sel.Seqs))
	for {
		res, err := e.store.Scan(ctx, store.ScanParams{Queue: h.queue.id, Select: sel, Limit: MaxBatch, MaxBytes: glimpseBytes})
		if err != nil {
			return nil, fmt.Errorf("look at messages of %s: %w", h.queue.ref, err)
		}
		for i := range res.Views {
			v := &res.Views[i]
			seen[v.Seq] = store.View{State: v.State, Token: v.Token, LeasedAt: v.LeasedAt}
		}
		if res.Next == 0 {
			return seen, nil
		}
		sel.From = res.Next
	}
}

// plan decides what is left by what was seen: of are the numbers of the items.
func (h *hiding) plan(s *setup, seen map[store.Seq]store.View, now time.Time) (items []store.SettleItem, of []int) {
	for _, n := range h.left {
		item := h.wanted[n]
		v := seen[item.Seq]
		running := v.State == store.StateLeased
		switch {
		case v.State == 0:
			h.outcomes[n] = store.Gone
			continue
		case v.State == store.StateDead, s.config.FIFO && !(running && v.Token == item.Token):
			h.outcomes[n] = store.Lost
			continue
		case v.State == store.StateReady && item.After == 0:
			h.outcomes[n] = store.Settled // it is what it is to be
			continue
		case h.exceeds(item.After, &v, now):
			at := h.index[n]
			h.results[at].Err = invalid(fmt.Sprintf("items[%d].visibility", at), fmt.Sprintf(
				"The message would be hidden for more than %v since it was received; give less, or receive it again.", h.within))
			continue
		case running, v.State == store.StateReady && v.Token != 0:
			item.Token = v.Token
		default: // it backs off, or its lease was forgotten by a crash: it is kept back without one
			item.Token, item.Target = store.AnyToken, store.Ready
		}
		items, of = append(items, item), append(of, n)
	}
	return items, of
}

// exceeds says whether the message would be hidden for too long.
func (h *hiding) exceeds(visibility time.Duration, v *store.View, now time.Time) bool {
	elapsed := time.Duration(0)
	if !v.LeasedAt.IsZero() {
		elapsed = max(0, now.Sub(v.LeasedAt)).Truncate(time.Second)
	}
	return visibility > 0 && visibility > h.within-elapsed
}

// tally marks what was not done, and counts.
func (h *hiding) tally() (done, lost int) {
	for i, o := range h.outcomes {
		result := &h.results[h.index[i]]
		switch {
		case result.Err != nil:
		case o == store.Settled, o == store.Died:
			done++
		default:
			result.Err = h.refusal()
			lost++
		}
	}
	return done, lost
}
