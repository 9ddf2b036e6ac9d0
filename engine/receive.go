package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/memlimit"
	"github.com/dabba-mq/dabba/store"
)

// Received is the answer to one receive. It belongs to one goroutine.
type Received struct {
	Messages []Delivery

	engine  *Engine
	queue   *queue
	claimed store.ClaimResult
	// kept says that there is nothing to undo.
	kept bool
}

// Receive leases up to Max ready messages, in the order of the queue, and waits for the first if there is none. An
// empty answer is not an error. With [AckOnReceive] the messages are gone when it returns; acking them is harmless. When
// ctx ends before it returns, nothing is leased and nothing is counted. A client that never gets the whole answer is the
// caller's to find out: see [Received.Undo].
func (e *Engine) Receive(ctx context.Context, ref Ref, req ReceiveRequest) (*Received, error) {
	if req.Max == 0 {
		req.Max = 1
	}
	if err := req.validate(); err != nil {
		return nil, err
	}
	t := try{engine: e, ref: ref, req: req, room: MaxAnswerBytes}
	if err := t.claim(ctx); err != nil {
		return nil, err
	}
	if t.empty() {
		if err := t.await(ctx); err != nil {
			return nil, err
		}
	}
	return t.deliver(ctx)
}

func (r *ReceiveRequest) validate() *Error {
	if r.Max < 1 || r.Max > MaxBatch {
		return invalid("max", fmt.Sprintf("Give a number from 1 to %d.", MaxBatch))
	}
	if r.Wait != nil && (*r.Wait < 0 || *r.Wait > MaxWait) {
		return validDuration("wait", *r.Wait, 0, MaxWait)
	}
	if r.Visibility != nil && (*r.Visibility < 0 || *r.Visibility > MaxDuration) {
		return validDuration("visibility", *r.Visibility, 0, MaxDuration)
	}
	if len(r.Consumer) > MaxConsumerBytes {
		return invalid("consumer", fmt.Sprintf("Give at most %d bytes.", MaxConsumerBytes))
	}
	if err := validID(r.AttemptID); err != "" {
		return invalid(attemptField, err)
	}
	return nil
}

// try is one receive under way, or the part of one that concerns one of its queues.
type try struct {
	engine *Engine
	ref    Ref
	req    ReceiveRequest
	room   int64 // how many bytes may be claimed
	index  int   // which of the queues of the request this is about
	spot   spot

	// What the last claim found out.
	queue *queue
	setup *setup
	seen  uint64 // signals before it
	got   store.ClaimResult
	due   moment // when time may change it
}

func (t *try) empty() bool { return len(t.got.Messages) == 0 }

// claim asks the store once; what it learns about others it passes on.
func (t *try) claim(ctx context.Context) error {
	e := t.engine
	q, s, err := e.lookup(ctx, t.ref)
	if err != nil {
		return err
	}
	for reloads := 0; ; reloads++ {
		t.queue, t.setup, t.seen = q, s, q.line.seen()
		if s.pause.Consume {
			if held, err := t.held(ctx); held || err != nil {
				return err
			}
			q, s = t.queue, t.setup
		}
		p := store.ClaimParams{
			Queue: q.id, Revision: uint64(s.revision),
			Max: t.req.Max, MaxBytes: t.room, Expect: q.expect(s),
			Visibility: t.visibility(s), Consumer: t.req.Consumer,
		}
		if t.req.AttemptID != "" {
			p.Attempt, p.AttemptWindow = attempt(t.ref, t.req.AttemptID), AttemptWindow
			p.FirstOnly = t.req.FirstAttemptOnly
		}
		t.got, err = e.store.Claim(ctx, p)
		if err == nil && t.got.Spent {
			return invalid(attemptField, "A message of this attempt was deleted, or its visibility was changed, so that it is no longer "+
				"retryable; receive with another id.")
		}
		if err == nil {
			t.claimed(ctx, p.Visibility)
			return nil
		}
		if !isStale(err) || reloads == maxReloads {
			return unanswerable(fmt.Errorf("receive from %s: %w", t.ref, err))
		}
		if q, s, err = e.reload(ctx, t.ref, s); err != nil {
			return err
		}
	}
}

// claimed tells others what the claim found out.
func (t *try) claimed(ctx context.Context, visibility time.Duration) {
	e, q := t.engine, t.queue
	for i := range t.got.Messages {
		q.sized(int64(t.got.Messages[i].Size))
	}
	t.due = e.clock.in(t.got.NextDue)
	e.dueAt(q, t.due)
	if t.got.Ready || visibility == 0 && !t.empty() {
		q.line.signal()
	}
	if !t.got.Repeated {
		e.countOut(q, t.got.Messages, t.got.Deadline.Add(-visibility))
	}
	if t.got.Expired > 0 {
		e.countExpired(q, t.got.Expired)
		tell(e.events.Expired, q.ref, t.got.Expired)
	}
	if t.got.Expired > 0 || t.got.Died > 0 {
		q.freed()
	}
	e.buryNow(ctx, q, t.got.Died)
}

// unknownSize is how large messages are taken to be of which none was seen yet, in a queue that takes no larger ones than usual.
const unknownSize = 64 << 10

// expect is about how large the queue's messages are.
func (q *queue) expect(s *setup) int64 {
	if n := q.largest.Load(); n > 0 {
		return n
	}
	if n := s.config.MaxMessageBytes; n < unknownSize || n > DefaultConfig().MaxMessageBytes {
		return n
	}
	return unknownSize
}

// sized notes the size of a message.
func (q *queue) sized(n int64) {
	for largest := q.largest.Load(); n > largest && !q.largest.CompareAndSwap(largest, n); {
		largest = q.largest.Load()
	}
}

// visibility is how long the lease lasts; if the messages are acked with it, long enough for that.
func (t *try) visibility(s *setup) time.Duration {
	switch {
	case s.config.Ack == AckOnReceive:
		return onReceiveLease
	case t.req.Visibility != nil:
		return *t.req.Visibility
	}
	return s.config.Visibility
}

// attemptField is the field of requests that names an attempt.
const attemptField = "attempt_id"

// attempt is the name of a receive that may be repeated. Who repeats it does not matter.
func attempt(ref Ref, id string) [16]byte {
	b := make([]byte, 0, 3*(MaxIDBytes+2))
	b = appendString(appendString(appendString(b, ref.Tenant), ref.Name), id)
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// deliver makes the answer. What cannot be read is left leased: it comes back, and is reported each time.
func (t *try) deliver(ctx context.Context) (*Received, error) {
	r := &Received{engine: t.engine, queue: t.queue, claimed: t.got, kept: t.got.Repeated}
	if ctx.Err() != nil {
		err := fmt.Errorf("receive from %s: %w", t.ref, ctx.Err())
		if undo := r.Undo(context.WithoutCancel(ctx)); undo != nil {
			return nil, undo
		}
		return nil, fromStore(err)
	}
	if err := memlimit.Charge(ctx, t.decoded()); err != nil {
		if undo := r.Undo(context.WithoutCancel(ctx)); undo != nil {
			return nil, undo
		}
		return nil, unanswerable(err)
	}
	if t.setup.config.Ack == AckOnReceive && !t.empty() {
		if err := r.ackAll(ctx, t.setup); err != nil {
			return nil, err
		}
	}
	var bytes int64
	unreadable := r.decode()
	for i := range r.claimed.Messages {
		bytes += int64(r.claimed.Messages[i].Size)
	}
	if unreadable != nil && len(r.Messages) == 0 {
		return nil, fromStore(fmt.Errorf("read a message of %s: %w", t.ref, unreadable))
	}
	if t.engine.events.Received != nil && !t.got.Repeated {
		t.engine.events.Received(t.ref, len(r.Messages), bytes)
	}
	return r, nil
}

// deliveryCost and attributeCost are about what a message of an answer takes besides its payload, and an attribute of it.
const (
	deliveryCost  = 256
	attributeCost = 80
)

// decoded is about how much memory the messages take once they are decoded.
func (t *try) decoded() int64 {
	n := deliveryCost * int64(len(t.got.Messages))
	for i := range t.got.Messages {
		n += attributeCost * int64(attributesIn(t.got.Messages[i].Payload))
	}
	return n
}

// unanswerable refuses a receive whose messages find no room in memory. One that never will is not too large a request.
func unanswerable(err error) *Error {
	e := *fromStore(err)
	if e.Code == CodeTooLarge {
		e.Code, e.RetryAfter = CodeUnavailable, time.Second
		e.Detail = strings.Replace(e.Detail, "send less", "receive less", 1)
	}
	return &e
}

// Final says that the messages are gone, or that another answer may have given them already: they cannot be given back.
func (r *Received) Final() bool { return r.kept }

// decode fills Messages; the receipts of all share one string.
func (r *Received) decode() (unreadable error) {
	n := len(r.claimed.Messages)
	if n == 0 {
		return nil
	}
	r.Messages = make([]Delivery, 0, n)
	stamps := r.engine.stamps().stamper(r.queue.id, r.claimed.Token)
	text := make([]byte, 0, n*receiptText)
	for i := range r.claimed.Messages {
		text = stamps.append(text, r.claimed.Messages[i].Seq, r.claimed.Messages[i].Entered)
	}
	receipts := string(text)
	lease := Lease{Token: uint64(r.claimed.Token), ExpiresAt: r.claimed.Deadline}
	now, fifo := r.engine.wall(), r.queue.setup.Load().config.FIFO
	for i := range r.claimed.Messages {
		from := &r.claimed.Messages[i]
		r.Messages = append(r.Messages, Delivery{
			Receipt:  receipts[i*receiptText : (i+1)*receiptText],
			Receives: from.Receives, SentAt: from.SentAt, Lease: lease,
			Group: from.Group, Priority: int(from.Priority), ExpiresAt: from.ExpiresAt,
			WaitedFor: max(0, now.Sub(from.AvailableAt)),
		})
		d := &r.Messages[len(r.Messages)-1]
		if fifo {
			d.Sequence = uint64(from.Seq)
		}
		if err := decodePayload(from.Payload, d); err != nil {
			r.Messages = r.Messages[:len(r.Messages)-1]
			unreadable = err
			continue
		}
		r.engine.ids().identify(d, r.queue.id, from)
	}
	return unreadable
}

// identify gives the delivery its id and its origin.
func (c idCipher) identify(d *Delivery, q store.QueueID, from *store.Delivery) {
	o := from.Origin
	if o == nil {
		c.put(&d.ID, q, from.Seq)
		return
	}
	c.put(&d.ID, o.Queue, o.Seq)
	d.SentAt = o.SentAt
	d.Origin = &Origin{Queue: o.Label, Reason: o.Reason, Receives: o.Receives, MovedAt: o.MovedAt}
}

// undoTime bounds how long giving back may take once the client is gone.
const undoTime = 10 * time.Second

// Undo gives the messages back as if they had not been received: for a client that did not get the whole answer.
// A message whose lease has ended and that someone else holds by now is left alone. So are those of a repeat, which the
// client may have got the first time, and those that were acked by being received.
func (r *Received) Undo(ctx context.Context) error {
	if len(r.claimed.Messages) == 0 || r.kept {
		return nil
	}
	items := make([]store.SettleItem, len(r.claimed.Messages))
	for i := range items {
		items[i] = store.SettleItem{
			Seq: r.claimed.Messages[i].Seq, Token: r.claimed.Token,
			Target: store.Ready, Uncount: true,
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	outcomes, err := r.settle(ctx, r.queue.setup.Load(), items, AcksLeader)
	if err != nil && fromStore(err).Code != CodeNotFound { // a queue that was deleted took the messages with it
		return fromStore(fmt.Errorf("give back messages of %s: %w", r.queue.ref, err))
	}
	undone := count(outcomes, store.Settled)
	r.engine.countReturned(r.queue, undone)
	tell(r.engine.events.Undone, r.queue.ref, undone)
	r.Messages, r.claimed = nil, store.ClaimResult{}
	return nil
}

// settle says what becomes of claimed messages. It follows changes of the configuration, like every settlement, but not
// to another queue of that name: then it is [store.ErrGone].
func (r *Received) settle(ctx context.Context, s *setup, items []store.SettleItem, acks Acks) ([]store.Outcome, error) {
	e, q := r.engine, r.queue
	for reloads := 0; ; reloads++ {
		res, err := e.store.Settle(ctx, store.SettleParams{
			Queue: q.id, Revision: uint64(s.revision), Items: items, Acks: s.copies(acks),
		})
		if err == nil {
			e.dueIn(q, res.NextDue)
			return res.Outcomes, nil
		}
		if !isStale(err) || reloads == maxReloads {
			return nil, err
		}
		now, setup, err := e.reload(ctx, q.ref, s)
		if err != nil {
			return nil, err
		}
		if now != q {
			return nil, store.ErrGone
		}
		s = setup
	}
}
