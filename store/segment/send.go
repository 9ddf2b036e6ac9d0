package segment

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Send implements [store.Queues].
func (s *Store) Send(ctx context.Context, p store.SendParams) (store.SendResult, error) {
	delays := model.Delays(p.Entries, s.clock)
	rec := model.EncodeSent(room(model.SentLen(p.Entries, p.Once)), p.Entries, delays, p.Once)
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
	res, lsn, err := s.send(q, p, delays, seal(rec, typeSent, q.id))
	if err := s.await(lsn, err); err != nil {
		return store.SendResult{}, err
	}
	if !res.Duplicate {
		s.notify(p.Queue)
	}
	return res, nil
}

// remembers says whether a send was made before.
func (q *queue) remembers(now model.Millis, once *store.Once) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return once != nil && q.state != nil && q.state.Remembers(now, once)
}

// send decides and appends. It returns the LSN the answer depends on, an error's too.
func (s *Store) send(q *queue, p store.SendParams, delays []model.Millis, rec []byte) (store.SendResult, journal.LSN, error) {
	metas := make([]model.Meta, len(p.Entries))
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(p.Revision); err != nil {
		return store.SendResult{}, q.last, err
	}
	now := s.clock.Now()
	for i, e := range p.Entries {
		metas[i].Size = e.Size
		if delays != nil {
			metas[i].Due = now + delays[i]
		}
	}
	ev, res, fresh, err := q.state.Send(now, metas, p.Once)
	if err != nil || !fresh {
		return res, q.last, err
	}
	model.Stamp(rec[record.HeaderSize:], q.id, ev.At, ev.First)
	lsn := s.append(rec, true)
	q.last = lsn
	q.sent(ev.First+store.Seq(len(metas))-1, lsn, s.journal.Durable())
	return res, lsn, nil
}
