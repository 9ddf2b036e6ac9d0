package segment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Settle implements [store.Queues].
func (s *Store) Settle(ctx context.Context, p store.SettleParams) (store.SettleResult, error) {
	if err := s.journal.Room(ctx, settleLen(p), true); err != nil {
		return store.SettleResult{}, fmt.Errorf("settle in queue %d: %w", p.Queue, err)
	}
	q, err := s.find(p.Queue)
	if err != nil {
		return store.SettleResult{}, err
	}
	res, frees, lsn, err := s.decideSettle(q, p)
	if err := s.await(lsn, err); err != nil {
		return store.SettleResult{}, err
	}
	if frees {
		s.notify(p.Queue)
	}
	return res, nil
}

// decideSettle decides and appends.
func (s *Store) decideSettle(q *queue, p store.SettleParams) (res store.SettleResult, frees bool, lsn journal.LSN, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(p.Revision); err != nil {
		return res, false, q.last, err
	}
	now := s.follow(q, p.Each.NotBefore != time.Time{} ||
		slices.ContainsFunc(p.Items, func(i store.SettleItem) bool { return !i.NotBefore.IsZero() }))
	if p.Select != nil {
		sel := s.clock.Ahead().Selection(*p.Select)
		p.Select = &sel
	}
	ev, outcomes, next, changed := q.state.Settle(now, p)
	res = store.SettleResult{Outcomes: outcomes, Next: next, NextDue: q.state.NextDue(now)}
	if changed {
		q.last = s.append(seal(ev.Encode(room(ev.Len())), typeSettled, q.id), true)
		q.settled = q.last
	}
	return res, changed && q.state.Frees(ev.Released()), q.last, nil
}

// settleLen is how long the record of a Settle is at most.
func settleLen(p store.SettleParams) int {
	if p.Select != nil {
		return record.HeaderSize + model.SettledLen(1000) + 1000*len(p.Each.Reason)
	}
	n := record.HeaderSize + model.SettledLen(len(p.Items))
	for _, item := range p.Items {
		n += len(item.Reason)
	}
	return n
}
