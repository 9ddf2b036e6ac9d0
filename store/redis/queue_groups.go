package redis

import (
	"context"

	"github.com/dabba-mq/dabba/store"
)

var queueGroups = newLook("queue_groups")

// groups lists those of a part.
func (s part) groups(ctx context.Context, id store.QueueID, after *string, limit int) ([]store.Group, error) {
	var list []store.Group
	for len(list) < limit {
		name := ""
		if after != nil {
			name = *after
		}
		r, now, err := s.queue(ctx, queueGroups, queueCall{id: id}, flag(after != nil), name, limit-len(list))
		if err != nil {
			return nil, err
		}
		last, more := r.text(), r.int() == 1
		for r.more() {
			list = append(list, r.list().group(now))
		}
		if err := r.done(); err != nil {
			return nil, err
		}
		if after = &last; !more {
			break
		}
	}
	return list, nil
}

func (r *reply) group(now int64) store.Group {
	g := store.Group{Name: r.text(), Ready: r.int(), Leased: r.int(), Delayed: r.int(), Dead: r.int(), Head: store.Seq(r.int()), HeadAge: -1}
	if tick := r.int(); tick >= 0 {
		g.HeadAge = ageOf(now, tick)
	}
	g.LockedUntil = momentOf(r.int())
	return g
}
