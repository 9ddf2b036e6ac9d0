package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// MaxQueues is the most queues one receive may name.
	MaxQueues = 16
	// MaxWeight is the most that one of its queues may weigh; the least is 1.
	MaxWeight = 1000
)

// ReceiveManyRequest describes one receive from several queues.
type ReceiveManyRequest struct {
	// Queues are from 1 to [MaxQueues], each named once.
	Queues []Ref
	// Weights has one weight for each queue, from 1 to [MaxWeight]. Which queue is asked first is drawn with each receive:
	// with a chance in proportion to its weight; of the others the next, and so on. Without weights the queues are asked
	// in order, so that a later one gives messages only when those before it have too few.
	Weights []int
	// ReceiveRequest is about all of them together. Wait defaults to the longest of the queues', Visibility to that of each.
	// There is no AttemptID.
	ReceiveRequest
}

// ReceivedMany is the answer to one receive from several queues. It belongs to one goroutine.
type ReceivedMany struct {
	// Parts hold the messages of one queue each, in the order in which the queues were asked, and none that has none.
	Parts []*Received
}

// ReceiveMany leases up to Max messages of several queues: as many as the first one has ready, the rest from the next,
// and so on, and waits for the first message of any if there is none. All the messages but the first fit into
// [MaxAnswerBytes]. When a queue fails, what those before it gave is still the answer. See also [Engine.Receive].
func (e *Engine) ReceiveMany(ctx context.Context, req ReceiveManyRequest) (*ReceivedMany, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	if req.Max == 0 {
		req.Max = 1
	}
	if err := req.ReceiveRequest.validate(); err != nil {
		return nil, err
	}
	// A queue that does not exist is told of whatever the others have.
	for i, ref := range req.Queues {
		if _, _, err := e.lookup(ctx, ref); err != nil {
			return nil, inQueue(i, err)
		}
	}
	ts := &tries{engine: e, most: req.Max}
	for _, i := range req.order(&e.random) {
		ts.all = append(ts.all, &try{engine: e, ref: req.Queues[i], req: req.ReceiveRequest, index: i})
	}
	confirmed := ts.confirm(ctx)
	if err := ts.claim(ctx); err != nil {
		_ = confirmed() // it names no other queue than the claim, or one that does not matter any more
		return nil, err
	}
	if err := confirmed(); err != nil {
		ts.undo(ctx)
		return nil, err
	}
	if ts.empty() {
		if err := ts.await(ctx); err != nil {
			return nil, err
		}
	}
	return ts.deliver(ctx)
}

// confirm looks, while the queues are asked for messages, whether those are still there that may not be asked, and says
// what it found. On a store of its own an engine knows.
func (ts *tries) confirm(ctx context.Context) (result func() error) {
	if !ts.engine.shared() || len(ts.all) == 1 {
		return func() error { return nil }
	}
	missing := make([]error, len(ts.all))
	var work sync.WaitGroup
	for i, t := range ts.all[1:] { // the first one is asked in any case
		ref, index := t.ref, t.index
		work.Go(func() {
			if err := ts.engine.renew(ctx, ref); err != nil && ErrorOf(err).Code == CodeNotFound {
				missing[i] = inQueue(index, err)
			}
		})
	}
	return func() error {
		work.Wait()
		for _, err := range missing {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// undo gives back what was claimed and is not answered. What cannot be given back comes again when its lease has ended.
func (ts *tries) undo(ctx context.Context) {
	for _, t := range ts.all {
		if !t.empty() {
			r := &Received{engine: ts.engine, queue: t.queue, claimed: t.got, kept: t.got.Repeated}
			_ = r.Undo(context.WithoutCancel(ctx))
		}
	}
}

func (r *ReceiveManyRequest) validate() *Error {
	if n := len(r.Queues); n < 1 || n > MaxQueues {
		return invalid("queues", fmt.Sprintf("Give 1 to %d queues; these are %d.", MaxQueues, n))
	}
	for i, ref := range r.Queues {
		if slices.Contains(r.Queues[:i], ref) {
			return invalid(fmt.Sprintf("queues[%d]", i), "Give each queue once.")
		}
	}
	if len(r.Weights) > 0 && len(r.Weights) != len(r.Queues) {
		return invalid("weights", fmt.Sprintf("Give a weight for each queue: %d queues have %d.", len(r.Queues), len(r.Weights)))
	}
	for i, w := range r.Weights {
		if w < 1 || w > MaxWeight {
			return invalid("weights", fmt.Sprintf("Give weights from 1 to %d; that of %s is %d.", MaxWeight, r.Queues[i].Name, w))
		}
	}
	if r.AttemptID != "" {
		return invalid("attempt_id", "A receive from several queues cannot be repeated; leave it out.")
	}
	return nil
}

// order is that in which the queues are asked, as indexes.
func (r *ReceiveManyRequest) order(rnd *random) []int {
	order := make([]int, len(r.Queues))
	total := 0
	for i := range order {
		order[i] = i
		if len(r.Weights) > 0 {
			total += r.Weights[i]
		}
	}
	if total == 0 {
		return order
	}
	for i := range order {
		at := int(rnd.upTo(uint64(total - 1)))
		next := i
		for ; at >= r.Weights[order[next]]; next++ {
			at -= r.Weights[order[next]]
		}
		order[i], order[next] = order[next], order[i]
		total -= r.Weights[order[i]]
	}
	return order
}

// inQueue names the queue at fault by its place in the request.
func inQueue(i int, err error) error {
	named := *ErrorOf(err)
	if named.Field == "" {
		named.Field = fmt.Sprintf("queues[%d]", i)
	}
	return &named
}

// Ref is the queue that the messages are from.
func (r *Received) Ref() Ref { return r.queue.ref }

// Undo gives all the messages back: see [Received.Undo]. One queue's failing does not keep the others from it.
func (r *ReceivedMany) Undo(ctx context.Context) error {
	var failed []error
	for _, part := range r.Parts {
		failed = append(failed, part.Undo(ctx))
	}
	return errors.Join(failed...)
}

// deliver makes the answer. A queue that fails is left out if others have something.
func (ts *tries) deliver(ctx context.Context) (*ReceivedMany, error) {
	r := &ReceivedMany{}
	var failed error
	for _, t := range ts.all {
		if t.empty() {
			continue
		}
		part, err := t.deliver(ctx)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.Parts = append(r.Parts, part)
	}
	if failed == nil || len(r.Parts) > 0 && ctx.Err() == nil {
		return r, nil
	}
	// The client is gone: what was delivered before that was noticed goes back, too.
	if err := r.Undo(context.WithoutCancel(ctx)); err != nil {
		return nil, fromStore(err)
	}
	return nil, failed
}

// tries are one receive under way: a try for each of its queues, in the order in which they are asked.
type tries struct {
	engine *Engine
	all    []*try
	// most is how many messages are wanted of all of them together.
	most int
	// bell has room for a verdict of each line.
	bell chan verdict
}

// await is that of one queue. It works on a copy, so that a receive that does not wait is not on the heap.
func (t *try) await(ctx context.Context) error {
	if t.wait() == 0 {
		return nil
	}
	waiting := *t
	ts := &tries{engine: t.engine, all: []*try{&waiting}, most: t.req.Max}
	err := ts.await(ctx)
	*t = waiting
	return err
}

// wait is that of the request, else the queue's.
func (t *try) wait() time.Duration {
	if t.req.Wait != nil {
		return *t.req.Wait
	}
	return t.setup.config.Wait
}

// await returns once messages were claimed, or there is an error, or the time is up. All queues were asked before.
func (ts *tries) await(ctx context.Context) error {
	wait := ts.longest()
	if wait == 0 {
		return nil
	}
	if waiting := ts.engine.events.Waiting; waiting != nil {
		waiting(+1)
		defer waiting(-1)
	}
	ts.bell = make(chan verdict, len(ts.all))
	expired := make(chan struct{})
	timeout := newAlarm(func() { close(expired) })
	until := ts.engine.clock.in(wait)
	ts.engine.clock.soonest(timeout, until)
	defer ts.engine.clock.off(timeout)
	defer ts.leave()
	var away error // why the last claim could not be made
	for again := false; ts.empty(); again = true {
		v, err := ts.waitOnce(ctx, expired, again)
		if err != nil {
			return err
		}
		if v == dismissed {
			return away
		}
		if away = ts.claim(ctx); away != nil && !isAway(away) {
			return away
		}
		if away != nil {
			ts.putOff()
		}
	}
	return nil
}

// awayRetry is when a receive that waits tries again after the store could not be reached.
const awayRetry = time.Second

// isAway says that the store could not be reached and nothing was changed. A receive that waits outlasts that: the store
// announces everything once it is back, and until then there is nothing to be had elsewhere.
func isAway(err error) bool {
	return errors.Is(err, store.ErrUnavailable) && ErrorOf(err).Outcome == NotApplied
}

// putOff has the receive wait on after a claim that could not be made.
func (ts *tries) putOff() {
	for _, t := range ts.all {
		t.got = store.ClaimResult{}
		t.seen = t.queue.line.seen()
		t.due = ts.engine.clock.in(awayRetry)
		t.spot.woken = false // nobody else would have more luck
	}
}

func (ts *tries) empty() bool {
	return !slices.ContainsFunc(ts.all, func(t *try) bool { return !t.empty() })
}

// longest is the wait of the request, else the longest of the queues'.
func (ts *tries) longest() time.Duration {
	var longest time.Duration
	for _, t := range ts.all {
		longest = max(longest, t.wait())
	}
	return longest
}

// claim asks one queue after the other until there are as many messages as wanted. Those with enough room for any of
// the queue's messages are asked, so that the answer does not become too large.
func (ts *tries) claim(ctx context.Context) error {
	for _, t := range ts.all {
		t.got = store.ClaimResult{}
	}
	left, room := ts.most, int64(MaxAnswerBytes)
	for _, t := range ts.all {
		if left < ts.most && (left == 0 || room < t.largest()) {
			return nil
		}
		t.req.Max, t.room = left, room
		if err := t.claim(ctx); err != nil {
			if left < ts.most {
				return nil // it comes again with a receive that gets nothing from the others
			}
			if len(ts.all) > 1 {
				return inQueue(t.index, err)
			}
			return err
		}
		t.spot.woken = false // the wake led to this
		left -= len(t.got.Messages)
		for i := range t.got.Messages {
			room -= int64(t.got.Messages[i].Size)
		}
	}
	return nil
}

// largest is the most that one message of the queue may have, as far as is known.
func (t *try) largest() int64 {
	if q, ok := t.engine.catalog.byName(t.ref); ok {
		return q.setup.Load().config.MaxMessageBytes
	}
	return 0
}

// spot is where a receive waits for one of its queues.
type spot struct {
	// waiter is made when it is first needed: most receives do not wait.
	waiter *waiter
	// line is that in which it stands or was woken last.
	line     *line
	standing bool
	// woken says that the line told it to try again and it has not yet done so.
	woken bool
}

// waitOnce stands in the lines of all queues until there is a reason to try again or to give up. A spot in a line that
// has not called is kept meanwhile, so that nobody who came later gets ahead.
func (ts *tries) waitOnce(ctx context.Context, expired <-chan struct{}, again bool) (verdict, error) {
	e := ts.engine
	in := true
	for _, t := range ts.all {
		in = ts.enter(t, again) && in
	}
	if !in {
		select {
		case <-expired:
			return dismissed, nil
		default:
			return tryAgain, nil
		}
	}
	for _, t := range ts.all {
		// Only now is the queue known to have a waiter, which makes its due time exact.
		e.dueAt(t.queue, t.due)
	}
	if e.draining.Load() { // looked at in line, so that Drain either sees the receive or is seen
		return dismissed, nil
	}
	select {
	case <-ts.bell:
		return ts.called(), nil
	case <-expired:
		return dismissed, nil
	case <-ctx.Done():
		return 0, fromStore(fmt.Errorf("wait for messages of %s: %w", ts.all[0].ref, ctx.Err()))
	}
}

// enter takes a spot in the queue's line, if it has none there; it fails when there were signals since the claim.
func (ts *tries) enter(t *try, again bool) bool {
	p, line := &t.spot, &t.queue.line
	if p.standing && p.line == line {
		return true
	}
	ts.withdraw(p) // from the line of a queue that was deleted and created again
	if p.waiter == nil {
		p.waiter = &waiter{verdict: ts.bell}
	}
	p.line = line
	p.standing = line.enter(p.waiter, t.seen, again)
	return p.standing
}

// called finds out which lines had a verdict; one was taken from the bell already.
func (ts *tries) called() verdict {
	v := tryAgain
	heard := 1
	for _, t := range ts.all {
		p := &t.spot
		if !p.standing {
			continue
		}
		told := p.line.told(p.waiter)
		if told == 0 {
			continue
		}
		if heard--; heard < 0 {
			<-ts.bell
		}
		p.standing, p.woken = false, told == tryAgain
		if told == dismissed {
			v = dismissed
		}
	}
	return v
}

// withdraw gives up a spot. A wake that came meanwhile is handed on.
func (ts *tries) withdraw(p *spot) {
	if p.standing {
		if told := p.line.withdraw(p.waiter); told != 0 {
			<-ts.bell
			p.woken = told == tryAgain
		}
		p.standing = false
	}
	if p.woken {
		p.line.signal()
		p.woken = false
	}
}

// leave gives up all spots.
func (ts *tries) leave() {
	for _, t := range ts.all {
		ts.withdraw(&t.spot)
	}
}
