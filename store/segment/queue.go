package segment

import (
	"fmt"
	"sync"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// queue is one queue: its state, what the journal knows of it, and where its messages are.
type queue struct {
	id    store.QueueID
	where where

	// mu guards the fields below and is held while a call decides and appends its record; never over I/O.
	mu    sync.Mutex
	state *model.Queue // nil once dropped
	// last is the LSN of the queue's last record, settled that of the last one that gave back or removed messages.
	last, settled journal.LSN
	// sending are the sends that may not be durable yet, in order.
	sending []sending
}

// sending says that messages up to last are durable once the journal is up to lsn.
type sending struct {
	last store.Seq
	lsn  journal.LSN
}

func newQueue(id store.QueueID, state *model.Queue) *queue {
	q := &queue{id: id, state: state}
	q.where.owner = fmt.Sprintf("queue %x", uint64(id))
	state.Erased = q.where.erased
	state.Cleared = func() { q.where.clear(q.state.Next() - 1) }
	return q
}

// check refuses a call on a dropped queue or for another revision. q.mu is held.
func (q *queue) check(revision uint64) error {
	if err := q.alive(); err != nil {
		return err
	}
	return q.state.Check(revision)
}

// sent notes that messages up to seq come with lsn. q.mu is held.
func (q *queue) sent(seq store.Seq, lsn, durable journal.LSN) {
	done := 0
	for done < len(q.sending) && q.sending[done].lsn <= durable {
		done++
	}
	if done == len(q.sending) {
		q.sending = q.sending[:0]
	} else if done > 0 {
		q.sending = append(q.sending[:0], q.sending[done:]...)
	}
	q.sending = append(q.sending, sending{seq, lsn})
}

// needs is the LSN that must be durable before messages up to seq may be shown. q.mu is held.
func (q *queue) needs(seq store.Seq) journal.LSN {
	for _, s := range q.sending {
		if s.last >= seq {
			return s.lsn
		}
	}
	return 0
}

// alive refuses a call on a dropped queue. q.mu is held.
func (q *queue) alive() error {
	if q.state == nil {
		return fmt.Errorf("queue %d: %w", q.id, store.ErrGone)
	}
	return nil
}
