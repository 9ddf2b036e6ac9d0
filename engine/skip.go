package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

// SkipGroup removes the head of a group, so that the group goes on: the message that keeps it locked or, if none does, the one
// it offers next. It says which that was; nil when the group has no such message.
func (e *Engine) SkipGroup(ctx context.Context, ref Ref, group string) (*MessageID, error) {
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
// have at most [MaxIDBytes], the given one too, so it is the name with its last byte one lower, followed by the highest
// bytes there are.
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
