package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Send implements [store.Queues].
func (s *Store) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	out := model.Sent{Entries: model.Metas(p.Entries, s.clock), Once: p.Once}
	payloads := make([][]byte, len(p.Entries))
	for i := range p.Entries {
		payloads[i] = p.Entries[i].Payload
	}
	if err := chargeRecord(ctx, model.SentLen(out, payloads)); err != nil {
		return store.SendResult{}, fmt.Errorf("send to queue %d: %w", p.Queue, err)
	}
	rec := model.EncodeSent(room(model.SentLen(out, payloads)), out, payloads)
	full := s.admit(ctx, len(rec))
	if full != nil && !errors.Is(full, store.ErrFull) {
		return store.SendResult{}, fmt.Errorf("send to queue %d: %w", p.Queue, full)
	}
	q, err := s.find(p.Queue)
	if err != nil {
		return store.SendResult{}, err
	}
	// A repeat adds nothing. To refuse it would say that what is there is not.
	if full != nil && !q.remembers(s.clock.Now(), p.Once) {
		return store.SendResult{}, fmt.Errorf("send to queue %d: %w", p.Queue, full)
	}
	res, lsn, err := s.send(q, p, out.Entries, payloads, seal(rec, typeSent, q.id))
	if err := s.await(lsn, err); err != nil {
		return store.SendResult{}, err
	}
	if !res.Duplicate && res.Count > 0 {
		s.notify(p.Queue)
	}
	return s.clock.Ahead().Sent(res), nil
}

// remembers says whether a send was made before.
func (q *queue) remembers(now model.Millis, once *store.Once) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return once != nil && q.state != nil && q.state.Remembers(now, once)
}

// send decides and appends. It returns the LSN the answer depends on, an error's too. rec is the record of a send of
// which everything is accepted as it is; others are encoded anew.
func (s *Store) send(q *queue, p store.SendParams, metas []model.Meta, payloads [][]byte, rec []byte) (store.SendResult, journal.LSN, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(p.Revision); err != nil {
		return store.SendResult{}, q.last, err
	}
	now := s.follow(q, slices.ContainsFunc(metas, func(m model.Meta) bool { return m.NotBefore > 0 }))
	ev, res, changed, err := q.state.Send(now, model.Sending{Entries: metas, Once: p.Once, Whole: p.Whole})
	if err != nil || !changed {
		return res, q.last, err
	}
	if !ev.Simple {
		accepted := payloads[:0:0]
		for i, payload := range payloads {
			if res.Fates == nil || res.Fates[i].Verdict == store.Accepted {
				accepted = append(accepted, payload)
			}
		}
		rec = seal(model.EncodeSent(room(len(rec)), ev, accepted), typeSent, q.id)
	}
	model.Stamp(rec[record.HeaderSize:], q.id, ev.At, ev.First)
	lsn := s.append(rec, true)
	q.last = lsn
	if len(ev.Evictions) > 0 {
		q.settled = lsn
	}
	q.sent(ev.First+store.Seq(len(ev.Entries))-1, lsn, s.journal.Durable())
	return res, lsn, nil
}
