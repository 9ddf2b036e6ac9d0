package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// settling is an ack, nack or extend: a batch of items that name deliveries by receipt.
type settling struct {
	verb string
	n    int
	// strict refuses leases that have ended. On FIFO queues that is always so.
	strict bool
	// anyone takes receipts of earlier deliveries, whoever has the message now. On FIFO queues it does nothing.
	anyone bool
	// acks replace the queue's, unless empty.
	acks    Acks
	receipt func(i int) string
	// refused is what the wire says about an item it could not read; nil if it reads all.
	refused func(i int) *Error
	// item says what is to become of the i-th delivery, or why it cannot. Sequence and token are filled in.
	item func(c *QueueConfig, i int, r receipt) (store.SettleItem, *Error)
}

// settled is what became of it: outcomes belong to the items whose result has no error.
type settled struct {
	queue    *queue
	results  []ItemResult
	outcomes []store.Outcome
	// index is, for each outcome, the number of its item.
	index []int
}

// settle judges each item on its own; one that is refused does not stop the others.
func (e *Engine) settle(ctx context.Context, ref Ref, b settling) (settled, error) {
	if b.n < 1 || b.n > MaxBatch {
		return settled{}, invalid("", fmt.Sprintf("Give 1 to %d receipts; these are %d.", MaxBatch, b.n))
	}
	if err := validAsked(b.acks); err != nil {
		return settled{}, err
	}
	var d settled
	looked := false
	err := e.follow(ctx, ref, func(q *queue, s *setup) error {
		d = settled{queue: q, results: make([]ItemResult, b.n), index: make([]int, 0, b.n)}
		items := e.collect(&d, &s.config, b)
		if len(items) < b.n && !looked {
			// The store is not asked about those that were refused, and another node may have changed what they were refused by.
			looked = true
			if err := e.confirm(ctx, q, s); err != nil {
				return err
			}
		}
		if len(items) == 0 {
			return nil
		}
		res, err := e.store.Settle(ctx, store.SettleParams{
			Queue: q.id, Revision: uint64(s.revision), Items: items, Strict: b.strict || s.config.FIFO,
			Acks: s.copies(b.acks),
		})
		if err != nil {
			return fmt.Errorf("%s in %s: %w", b.verb, ref, err)
		}
		e.dueIn(q, res.NextDue)
		d.outcomes = res.Outcomes
		return nil
	})
	return d, err
}

// collect makes the store's items of all that can be read.
func (e *Engine) collect(d *settled, c *QueueConfig, b settling) []store.SettleItem {
	items := make([]store.SettleItem, 0, b.n)
	receipts := e.stamps().checker()
	for i := range b.n {
		if b.refused != nil {
			if err := b.refused(i); err != nil {
				d.results[i].Err = err
				continue
			}
		}
		r, ok := receipts.open(d.queue.id, b.receipt(i))
		if !ok {
			d.results[i].Err = errReceiptInvalid
			continue
		}
		item, err := b.item(c, i, r)
		if err != nil {
			d.results[i].Err = err
			continue
		}
		item.Seq, item.Token = r.seq, r.token
		if b.anyone && !c.FIFO {
			item.Token = store.AnyToken
		}
		items = append(items, item)
		d.index = append(d.index, i)
	}
	return items
}

// refuse marks the items whose outcome is none of those wanted as lost, and counts the others.
func (d *settled) refuse(wanted ...store.Outcome) (done, lost int) {
	refusal := d.refusal()
	for i, o := range d.outcomes {
		if slices.Contains(wanted, o) {
			done++
			continue
		}
		d.results[d.index[i]].Err = refusal
		lost++
	}
	return done, lost
}

// refusal is what those are told who do not hold a message any more.
func (d *settled) refusal() *Error {
	if d.queue.setup.Load().config.FIFO {
		return errOrderLost
	}
	return errLeaseLost
}

func count(outcomes []store.Outcome, of store.Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o == of {
			n++
		}
	}
	return n
}
