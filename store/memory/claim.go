package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

// Claim implements [store.Queues].
func (s *Store) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	res, err := s.claim(ctx, p)
	if err == nil || len(res.Messages) == 0 {
		return res, err
	}
	// There is no memory for them: nobody gets them.
	back := store.SettleParams{Queue: p.Queue, Revision: p.Revision}
	for _, d := range res.Messages {
		back.Items = append(back.Items, store.SettleItem{Seq: d.Seq, Token: res.Token, Target: store.Ready, Uncount: true})
	}
	if !res.Repeated {
		_, undone := s.Settle(ctx, back)
		err = errors.Join(err, undone)
	}
	return store.ClaimResult{}, err
}

// claim returns what it claimed also when there is no memory for it, without payloads.
func (s *Store) claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.current(p.Queue, p.Revision)
	if err != nil {
		return store.ClaimResult{}, err
	}
	now, ahead := s.read(q)
	ev, leases, _ := q.Claim(now, p)
	res := store.ClaimResult{
		Token: ev.Token, Deadline: ahead.Time(int64(ev.Deadline)), Died: len(ev.Died) + len(ev.Lapsed), Expired: len(ev.Expired),
		Ready: q.Claimable(), Repeated: ev.Repeated, Spent: ev.Spent,
	}
	var bytes int64
	for _, l := range leases {
		d := q.messages[l.Seq].Deliver(l)
		bytes += int64(len(d.Payload))
		res.Messages = append(res.Messages, ahead.Delivery(d))
	}
	res.NextDue = q.NextDue(now)
	if err := memlimit.Charge(ctx, bytes); err != nil {
		return res, err
	}
	for i := range res.Messages {
		res.Messages[i].Payload = slices.Clone(res.Messages[i].Payload)
	}
	return res, nil
}
