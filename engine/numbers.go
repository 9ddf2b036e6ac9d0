package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// Rates are over the present span and the fifteen before it: 60 to 64 seconds.
	rateSpan  = moment(4 * time.Second)
	rateSpans = 16
	// shortestRate is the least time over which a rate is taken, so that one message is no burst.
	shortestRate = time.Second
	// drainTarget is the time in which the suggested workers would deal with the backlog.
	drainTarget = 5 * time.Minute
)

// Numbers are what this engine has done with one queue since it started; they are forgotten with it. Over one store
// several engines have numbers of their own.
type Numbers struct {
	// In, Out and Acked are messages a second, over about the last minute, or since the engine first saw one: sent or
	// moved here, delivered, and acked.
	In, Out, Acked float64
	// Waits of the messages that were delivered; nil when none was.
	Waits *Waits
	// Dropped counts messages that a full queue let go, Expired those whose retention or time to live had ended.
	Dropped, Expired int64
	// Drain is how long it takes at these rates until nothing is ready or leased; negative when that is not in sight.
	Drain time.Duration
	// Workers are how many that handle one message at a time would deal with what is ready, leased and coming in within
	// five minutes, each as fast as those at work are now; negative when that is unknown.
	Workers int
}

// numbers are counted without a lock, but for one moment every four seconds. A queue has none until something happens.
type numbers struct {
	// begun is when the first thing happened.
	begun moment
	// span is the latest that was begun. The slots of it and of those before it are in use.
	span atomic.Int64
	// mu is held while the next slots are cleared.
	mu    sync.Mutex
	slots [rateSpans]rateSlot

	waits            waits
	dropped, expired atomic.Int64
}

// rateSlot counts what happens in one span.
type rateSlot struct {
	in, out, acked atomic.Uint32
	// leased is by how much the number of leased messages rises, as far as it is known: leases that run out are not.
	leased atomic.Int32
	// weight is the sum of these changes, each times the milliseconds from the start of the span to it. With it the mean
	// of what is leased can be told without looking at it all the time.
	weight atomic.Int64
}

// numbersOf makes the numbers when they are first needed.
func (q *queue) numbersOf(now moment) *numbers {
	if n := q.numbers.Load(); n != nil {
		return n
	}
	n := &numbers{begun: now}
	n.span.Store(int64(now / rateSpan))
	if !q.numbers.CompareAndSwap(nil, n) {
		n = q.numbers.Load()
	}
	return n
}

// slot is where to count what happens now.
func (n *numbers) slot(now moment) *rateSlot {
	span := int64(now / rateSpan)
	if span > n.span.Load() {
		n.begin(span)
	}
	return &n.slots[span%rateSpans]
}

// begin clears the slots up to that of the given span. Nobody counts in them before the span is stored.
func (n *numbers) begin(span int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.span.Load()
	for next := max(last+1, span-rateSpans+1); next <= span; next++ {
		s := &n.slots[next%rateSpans]
		s.in.Store(0)
		s.out.Store(0)
		s.acked.Store(0)
		s.leased.Store(0)
		s.weight.Store(0)
	}
	n.span.Store(max(last, span))
}

// lease counts a change of what is leased.
func (s *rateSlot) lease(now moment, change int) {
	s.leased.Add(int32(change))
	s.weight.Add(int64(change) * int64(now%rateSpan/moment(time.Millisecond)))
}

// countIn counts messages that came to q.
func (e *Engine) countIn(q *queue, messages int) {
	if messages > 0 {
		now := e.clock.moment()
		q.numbersOf(now).slot(now).in.Add(uint32(messages))
	}
}

// countOut counts deliveries; at is the queue's time of them.
func (e *Engine) countOut(q *queue, messages []store.Delivery, at time.Time) {
	if len(messages) == 0 {
		return
	}
	now := e.clock.moment()
	n := q.numbersOf(now)
	s := n.slot(now)
	s.out.Add(uint32(len(messages)))
	s.lease(now, len(messages))
	n.waits.add(messages, at)
}

// countAcked counts messages that are done.
func (e *Engine) countAcked(q *queue, messages int) {
	if messages > 0 {
		now := e.clock.moment()
		s := q.numbersOf(now).slot(now)
		s.acked.Add(uint32(messages))
		s.lease(now, -messages)
	}
}

// countReturned counts messages that were given back, in whatever way.
func (e *Engine) countReturned(q *queue, messages int) {
	if messages > 0 {
		now := e.clock.moment()
		q.numbersOf(now).slot(now).lease(now, -messages)
	}
}

func (e *Engine) countDropped(q *queue, messages int) {
	if messages > 0 {
		q.numbersOf(e.clock.moment()).dropped.Add(int64(messages))
	}
}

func (e *Engine) countExpired(q *queue, messages int) {
	if messages > 0 {
		q.numbersOf(e.clock.moment()).expired.Add(int64(messages))
	}
}

// read makes the numbers of a queue with these counts. n may be nil.
func (n *numbers) read(now moment, c Counts) Numbers {
	out := Numbers{Drain: -1, Workers: -1}
	backlog := float64(c.Ready + c.Leased)
	if backlog == 0 {
		out.Drain = 0
	}
	if n == nil {
		return out
	}
	r := n.rates(now, c.Leased)
	out.In, out.Out, out.Acked = r.in, r.out, r.acked
	out.Waits = n.waits.read()
	out.Dropped, out.Expired = n.dropped.Load(), n.expired.Load()
	if backlog > 0 && r.acked > r.in {
		out.Drain = seconds(backlog / (r.acked - r.in))
	}
	if r.acked > 0 && r.leased > 0 {
		each := r.acked / r.leased
		out.Workers = int(min(math.Ceil((backlog/drainTarget.Seconds()+r.in)/each), math.MaxInt32))
	}
	return out
}

// seconds is a duration that may be out of range.
func seconds(s float64) time.Duration {
	if s >= MaxDuration.Seconds() {
		return MaxDuration
	}
	return time.Duration(s * float64(time.Second))
}

// rates are of the last minute: messages a second, and the mean of what was leased.
type rates struct{ in, out, acked, leased float64 }

// rates needs to know what is leased now.
func (n *numbers) rates(now moment, leased int64) rates {
	span, last := int64(now/rateSpan), n.span.Load()
	first := max(span-rateSpans+1, int64(n.begun/rateSpan))
	var in, out, acked, rise, since int64
	for at := first; at <= min(span, last); at++ {
		s := &n.slots[at%rateSpans]
		in += int64(s.in.Load())
		out += int64(s.out.Load())
		acked += int64(s.acked.Load())
		change := int64(s.leased.Load())
		rise += change
		since += change*milliseconds(now-moment(at)*rateSpan) - s.weight.Load()
	}
	over := now - max(moment(first)*rateSpan, n.begun)
	per := max(time.Duration(over), shortestRate).Seconds()
	r := rates{in: float64(in) / per, out: float64(out) / per, acked: float64(acked) / per}
	if over > 0 {
		r.leased = max(0, float64(leased-rise)+float64(since)/float64(max(1, milliseconds(over))))
	}
	return r
}

func milliseconds(m moment) int64 { return time.Duration(m).Milliseconds() }
