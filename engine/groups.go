package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Group is a group with messages, in a queue in which groups take turns.
type Group struct {
	Name                         string
	Ready, Leased, Delayed, Dead int64
	// HeadAge is the age of the message that the group offers next, since it first became available; negative when none
	// is ready.
	HeadAge time.Duration
	// Head is that message, or the first that keeps a FIFO group locked; nil when there is none.
	Head *MessageID
	// LockedUntil is when the leases and backoffs end that keep a FIFO group locked; zero when it is not.
	LockedUntil time.Time
}

// Depth counts the group's messages in all states.
func (g *Group) Depth() int64 { return g.Ready + g.Leased + g.Delayed + g.Dead }

// Groups lists the groups that have messages, by name, after the given one (nil: from the first), at most limit, from 1
// to 1,000. Fewer than limit means that there are no more.
func (e *Engine) Groups(ctx context.Context, ref Ref, after *string, limit int) ([]Group, error) {
	if limit < 1 || limit > pageSize {
		return nil, invalid("limit", fmt.Sprintf("Give a number from 1 to %d.", pageSize))
	}
	var found []Group
	err := e.followGroups(ctx, ref, func(q *queue, _ *setup) error {
		page, err := e.store.Groups(ctx, q.id, after, limit)
		if err != nil {
			return fmt.Errorf("list the groups of %s: %w", ref, err)
		}
		heads, err := e.heads(ctx, q, page)
		if err != nil {
			return err
		}
		found = make([]Group, len(page))
		for i, g := range page {
			found[i] = Group{
				Name: g.Name, Ready: g.Ready, Leased: g.Leased, Delayed: g.Delayed, Dead: g.Dead,
				HeadAge: g.HeadAge, LockedUntil: g.LockedUntil, Head: heads[g.Head],
			}
		}
		return nil
	})
	return found, err
}

// followGroups is follow for a queue that knows its groups.
func (e *Engine) followGroups(ctx context.Context, ref Ref, do func(*queue, *setup) error) error {
	return e.follow(ctx, ref, func(q *queue, s *setup) error {
		if err := e.confirm(ctx, q, s); err != nil {
			return err
		}
		if s.config.mode() == store.Standard {
			return conflict("", "Groups are known only in queues that are FIFO or fair, or have limits for each group. "+
				"To look for the messages of a group elsewhere, browse with group.")
		}
		return do(q, s)
	})
}

// heads are the ids of the groups' head messages. One that has left meanwhile has none.
func (e *Engine) heads(ctx context.Context, q *queue, groups []store.Group) (map[store.Seq]*MessageID, error) {
	ids := make(map[store.Seq]*MessageID, len(groups))
	sel := store.Selection{Seqs: []store.Seq{}}
	for _, g := range groups {
		if g.Head != 0 {
			sel.Seqs = append(sel.Seqs, g.Head)
		}
	}
	slices.Sort(sel.Seqs)
	if len(sel.Seqs) == 0 {
		return ids, nil
	}
	for {
		res, err := e.store.Scan(ctx, store.ScanParams{Queue: q.id, Select: sel, Limit: scanMessages, MaxBytes: scanBytes})
		if err != nil {
			return nil, fmt.Errorf("look at the heads of the groups of %s: %w", q.ref, err)
		}
		for i := range res.Views {
			ids[res.Views[i].Seq] = new(e.ids().of(q.id, &res.Views[i].Delivery))
		}
		if res.Next == 0 {
			return ids, nil
		}
		sel.From = res.Next
	}
}
