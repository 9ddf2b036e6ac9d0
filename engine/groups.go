package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
			ids[res.Views[i].Seq] = new(e.ids.of(q.id, &res.Views[i].Delivery))
		}
		if res.Next == 0 {
			return ids, nil
		}
		sel.From = res.Next
	}
}

// Skip removes the head of a group, so that the group goes on: the message that keeps it locked or, if none does, the one
// it offers next. It says which that was; nil when the group has no such message.
func (e *Engine) Skip(ctx context.Context, ref Ref, group string) (*MessageID, error) {
	var skipped *MessageID
	err := e.followGroups(ctx, ref, func(q *queue, _ *setup) error {
		for range maxPicks {
			seq, err := e.head(ctx, q, group)
			if err != nil || seq == 0 {
				return err
			}
			ids, err := e.heads(ctx, q, []store.Group{{Head: seq}})
			if err != nil {
				return err
			}
			outcome, err := e.removeOne(ctx, q, seq)
			if err != nil {
				return err
			}
			if outcome == store.Settled && ids[seq] != nil {
				skipped = ids[seq]
				return nil
			}
		}
		return conflict("", "The head of the group is changing all the time; repeat the request.")
	})
	return skipped, err
}

// head is the sequence of a group's head; 0 when there is none.
func (e *Engine) head(ctx context.Context, q *queue, group string) (store.Seq, error) {
	if len(group) > MaxIDBytes {
		return 0, nil // no group has such a name
	}
	found, err := e.store.Groups(ctx, q.id, before(group), 1)
	if err != nil {
		return 0, fmt.Errorf("look at group %q of %s: %w", group, q.ref, err)
	}
	if len(found) == 0 || found[0].Name != group {
		return 0, nil
	}
	return found[0].Head, nil
}

// before is a string such that no group's name is between it and the given one; nil if there is none before it. Names
// have at most [MaxIDBytes], the given one too, so it is the name with its last byte one lower, followed by the highest bytes there are.
func before(name string) *string {
	if name == "" {
		return nil
	}
	last := len(name) - 1
	if name[last] == 0 {
		return new(name[:last])
	}
	return new(name[:last] + string([]byte{name[last] - 1}) + strings.Repeat("\xff", MaxIDBytes-last))
}

// DeadLetterGroup makes all messages of a group dead and says how many that were. They move to the dead-letter queue, if there
// is one: the first of them before it returns, very many in the background.
func (e *Engine) DeadLetterGroup(ctx context.Context, ref Ref, group, reason string) (int, error) {
	if err := e.followGroups(ctx, ref, func(*queue, *setup) error { return nil }); err != nil {
		return 0, err
	}
	got, err := e.settleAll(ctx, ref,
		store.Selection{Group: &group, States: store.StateReady | store.StateDelayed | store.StateLeased},
		store.SettleItem{Target: store.Dead, Reason: cut(reason, MaxReasonBytes)})
	return got.settled + got.died, err
}

// PurgeGroup removes all messages of a group, in whatever state, and says how many that were.
func (e *Engine) PurgeGroup(ctx context.Context, ref Ref, group string) (int64, error) {
	if err := e.followGroups(ctx, ref, func(*queue, *setup) error { return nil }); err != nil {
		return 0, err
	}
	return e.Purge(ctx, ref, Filter{Group: &group})
}
