package engine

import (
	"container/heap"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// moment is an instant in nanoseconds since the engine started.
type moment int64

// never is later than every moment.
const never = moment(math.MaxInt64)

// clock rings alarms: one goroutine and one timer for all of them.
type clock struct {
	now   func() time.Time
	start time.Time
	// poke tells run that the earliest alarm changed.
	poke chan struct{}

	mu sync.Mutex
	// alarms is a heap, the earliest first. Each alarm in it knows its place.
	alarms alarmHeap
}

// alarm rings once, when its moment has come. ring is called by the clock, with no lock held, and must not block.
type alarm struct {
	ring func()

	// at is the moment it is set for, or never. It is written under clock.mu.
	at atomic.Int64
	// place in the heap, guarded by clock.mu; meaningless while at is never.
	place int
}

func newAlarm(ring func()) *alarm {
	a := &alarm{ring: ring}
	a.at.Store(int64(never))
	return a
}

func newClock(now func() time.Time) *clock {
	return &clock{now: now, start: now(), poke: make(chan struct{}, 1)}
}

// moment is the present one.
func (c *clock) moment() moment { return moment(c.now().Sub(c.start)) }

// in is the moment d from now; never for store.NoDue and what else is too far away to matter.
func (c *clock) in(d time.Duration) moment {
	if d == store.NoDue || d > MaxDuration {
		return never
	}
	return c.moment() + moment(max(d, 0))
}

// soonest sets the alarm for at unless it is set for an earlier moment. It takes no lock when there is nothing to do.
func (c *clock) soonest(a *alarm, at moment) {
	if int64(at) >= a.at.Load() {
		return
	}
	c.mu.Lock()
	was := moment(a.at.Load())
	if at < was {
		a.at.Store(int64(at))
		if was == never {
			heap.Push(&c.alarms, a)
		} else {
			heap.Fix(&c.alarms, a.place)
		}
	}
	first := c.alarms[0] == a
	c.mu.Unlock()
	if first {
		c.look()
	}
}

// look has run look at the time and at the alarms again.
func (c *clock) look() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// off makes sure that the alarm does not ring any more, unless it is ringing already.
func (c *clock) off(a *alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if moment(a.at.Load()) != never {
		heap.Remove(&c.alarms, a.place)
		a.at.Store(int64(never))
	}
}

func (c *clock) run(done <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.poke:
		case <-done:
			return
		}
		if wait := c.ringDue(); wait == time.Duration(never) {
			timer.Stop()
		} else {
			timer.Reset(wait)
		}
	}
}

// ringDue rings what is due and says how long it is until the next; never when there is none.
func (c *clock) ringDue() time.Duration {
	for {
		a, wait := c.pop()
		if a == nil {
			return wait
		}
		a.ring()
	}
}

// pop takes the earliest alarm out if it is due, else it says how long that will take.
func (c *clock) pop() (*alarm, time.Duration) {
	now := c.moment()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.alarms) == 0 {
		return nil, time.Duration(never)
	}
	a := c.alarms[0]
	if at := moment(a.at.Load()); at > now {
		return nil, time.Duration(at - now)
	}
	heap.Pop(&c.alarms)
	a.at.Store(int64(never))
	return a, 0
}

// alarmHeap implements heap.Interface.
type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Load() < h[j].at.Load() }
func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.place = len(*h)
	*h = append(*h, a)
}

func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}
