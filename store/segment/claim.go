package segment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Claim implements [store.Queues].
func (s *Store) Claim(ctx context.Context, p store.ClaimParams) (store.ClaimResult, error) {
	if err := s.journal.Room(ctx, record.HeaderSize+69+len(p.Consumer)+8*min(p.Max, 1000), true); err != nil {
		return store.ClaimResult{}, fmt.Errorf("claim from queue %d: %w", p.Queue, err)
	}
	q, err := s.find(p.Queue)
	if err != nil {
		return store.ClaimResult{}, err
	}
	c, lsn, err := s.claim(q, p)
	if err := s.await(lsn, err); err != nil {
		return store.ClaimResult{}, err
	}
	ahead := s.clock.Ahead()
	res := store.ClaimResult{
		Token: c.Token, Deadline: ahead.Time(int64(c.Deadline)), Died: len(c.Died) + len(c.Lapsed), Expired: len(c.Expired),
		Ready: c.ready, Repeated: c.Repeated, Spent: c.Spent, NextDue: c.due,
	}
	if len(c.Seqs) == 0 {
		return res, nil
	}
	res.Messages = make([]store.Delivery, 0, len(c.Seqs))
	damaged, err := s.read(ctx, q, c.Seqs, func(i int, m model.Stored) {
		res.Messages = append(res.Messages, ahead.Delivery(m.Deliver(c.leases[i])))
	})
	for _, d := range damaged {
		res.Died++
		err = errors.Join(err, s.setAside(ctx, q, p.Revision, d, c.Token))
	}
	if err != nil && !c.Repeated {
		if kept := s.takeBack(ctx, q, p.Revision, c); kept != nil {
			// The leases stand. That there is no room to end them must not pass for a claim that changed nothing.
			err = fmt.Errorf("%w; its leases end by themselves: %v", err, kept) //nolint:errorlint // see above
		}
	}
	if err != nil {
		return store.ClaimResult{}, err
	}
	return res, nil
}

// takeBack ends the leases of a claim that is going to fail, as if there had been none: nobody was told about them.
func (s *Store) takeBack(ctx context.Context, q *queue, revision uint64, c claimed) error {
	p := store.SettleParams{Queue: q.id, Revision: revision}
	for _, seq := range c.Seqs {
		p.Items = append(p.Items, store.SettleItem{Seq: seq, Token: c.Token, Target: store.Ready, Uncount: true})
	}
	_, err := s.Settle(context.WithoutCancel(ctx), p) // also for a caller who left
	return err
}

// claimed is what a claim decided.
type claimed struct {
	model.Claimed
	leases []model.Lease
	ready  bool
	due    time.Duration
}

// claim decides and appends. It returns the LSN of what the answer shows. The lease itself need not be waited for, except in
// a FIFO queue, if it can be repeated, or if the same record says that messages are dead or gone, which the answer counts.
func (s *Store) claim(q *queue, p store.ClaimParams) (claimed, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(p.Revision); err != nil {
		return claimed{}, q.last, err
	}
	now := s.follow(q, false)
	ev, leases, changed := q.state.Claim(now, p)
	c := claimed{Claimed: ev, leases: leases, ready: q.state.Claimable()}
	c.due = q.state.NextDue(now)
	if !changed {
		return c, q.last, nil
	}
	q.last = s.append(seal(ev.Encode(room(ev.Len())), typeClaimed, q.id), false)
	removed := len(ev.Died)+len(ev.Lapsed)+len(ev.Expired) > 0
	if removed {
		q.settled = q.last
	}
	if removed || q.state.FIFO() || p.Attempt != [16]byte{} {
		return c, q.last, nil
	}
	var seen journal.LSN
	for _, seq := range ev.Seqs {
		seen = max(seen, q.needs(seq))
	}
	if ev.Returned || q.last == never {
		seen = max(seen, q.settled)
	}
	return c, seen, nil
}

// setAside declares a message dead that cannot be read.
func (s *Store) setAside(ctx context.Context, q *queue, revision uint64, d damage, token store.Token) error {
	if f := s.o.Events.Damaged; f != nil {
		f(d.err)
	}
	_, err := s.Settle(ctx, store.SettleParams{Queue: q.id, Revision: revision, Items: []store.SettleItem{
		{Seq: d.seq, Token: token, Target: store.Dead, Reason: "the stored message is damaged"},
	}})
	return err
}
