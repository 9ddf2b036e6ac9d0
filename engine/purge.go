package engine

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Purge removes the messages that the filter chooses, leased ones too, and says how many they were: all of them, when
// it returns nil. Without a filter it is one step, and the queue forgets its deduplication ids as well. When it fails
// half-way the outcome is unknown; it may be repeated.
func (e *Engine) Purge(ctx context.Context, ref Ref, f Filter) (int64, error) {
	if err := f.validate(); err != nil {
		return 0, err
	}
	if f.Contains != "" || len(f.Attributes) > 0 {
		return 0, invalid("contains", "A purge does not read messages: choose them by state, group, age or id.")
	}
	var p pages
	var purged int64
	err := e.follow(ctx, ref, func(q *queue, _ *setup) error {
		if p.of == nil {
			s, err := e.sieve(ctx, q, &f)
			if err != nil {
				return err
			}
			p.selection = s.selection
		}
		return p.each(q, func(sel store.Selection) (store.Seq, error) {
			res, err := e.store.Purge(ctx, q.id, sel)
			if err != nil {
				return 0, fmt.Errorf("purge %s: %w", q.ref, err)
			}
			if res.Purged > 0 {
				q.freed()
			}
			purged += res.Purged
			return res.Next, nil
		})
	})
	if purged > 0 && e.events.Removed != nil {
		e.events.Removed(ref, int(purged))
	}
	return purged, p.halfway(err)
}

// pages are a change of many messages that the store makes page by page.
type pages struct {
	selection store.Selection
	// of is the queue in which it began.
	of *queue
	// turned says that at least one page is done.
	turned bool
}

// each goes on where it stopped, until the last page is done.
func (p *pages) each(q *queue, change func(store.Selection) (next store.Seq, err error)) error {
	if p.of != nil && p.of != q {
		return &Error{Code: CodeNotFound, Outcome: Unknown, Detail: "The queue was deleted meanwhile."}
	}
	p.of = q
	for {
		next, err := change(p.selection)
		if err != nil {
			return err
		}
		p.turned = true
		if next == 0 {
			return nil
		}
		p.selection.From = next
	}
}

// halfway makes the outcome of an error unknown if something was changed before it.
func (p *pages) halfway(err error) error {
	if !p.turned {
		return err
	}
	return withOutcome(Unknown, err)
}
