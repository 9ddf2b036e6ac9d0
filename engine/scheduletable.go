package engine

import (
	"sync"
	"time"
)

// timetable knows when each schedule fires next. It is a copy of what the records in the store say, good enough to know
// when to look at one of them again: which fire time is whose is decided by the record alone.
type timetable struct {
	// wall is the clock that people look at, which may be put forward and back.
	wall func() time.Time
	// poke tells the goroutine that there is work.
	poke chan struct{}
	// survey rings when all records are to be read again.
	survey *alarm

	mu     sync.Mutex
	known  map[string]*appointment // by key
	todo   []*appointment
	seeAll bool
}

// appointment is what an engine remembers of one schedule.
type appointment struct {
	key string
	// due rings when the schedule is to be looked at.
	due *alarm
	// listed says that it is in todo, noticed what the wall clock showed when it came there; guarded by timetable.mu.
	listed  bool
	noticed time.Time

	// The rest belongs to the goroutine that surveys, and to the one that visits it between two calls of next.

	// before is set for a schedule that was overdue when this engine started: fire times up to then were missed, which is a
	// minute before the start.
	before time.Time
	// tried is the fire time of the send under way. If reason is not nil it failed and is tried again.
	tried  time.Time
	reason error
	// failures counts those in a row, of any kind.
	failures int
}

func (t *timetable) init(wall func() time.Time) {
	t.wall, t.poke = wall, make(chan struct{}, 1)
	t.known = make(map[string]*appointment)
	t.survey = newAlarm(func() {
		t.mu.Lock()
		t.seeAll = true
		t.mu.Unlock()
		t.wake()
	})
}

func (t *timetable) wake() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// ring puts an appointment on the list. It is called by the clock.
func (t *timetable) ring(a *appointment) {
	now := t.wall()
	t.mu.Lock()
	if !a.listed {
		a.listed, a.noticed = true, now
		t.todo = append(t.todo, a)
	}
	t.mu.Unlock()
	t.wake()
}

// visit is an appointment that is due, and since when.
type visit struct {
	*appointment
	noticed time.Time
}

// next are the appointments to look at, each of them once and at most limit. seeAll says that all records are to be read
// first.
func (t *timetable) next(limit int) (due []visit, seeAll bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seeAll {
		t.seeAll = false
		return nil, true
	}
	for len(t.todo) > 0 && len(due) < limit {
		a := t.todo[0]
		t.todo[0] = nil
		t.todo = t.todo[1:]
		a.listed = false
		if t.known[a.key] == a {
			due = append(due, visit{a, a.noticed.Round(0).UTC()})
		}
	}
	if len(t.todo) == 0 {
		t.todo = nil
	}
	return due, false
}

// appointment finds or makes that of a key; fresh says which.
func (t *timetable) appointment(key string) (a *appointment, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.known[key]
	if !ok {
		a = &appointment{key: key}
		a.due = newAlarm(func() { t.ring(a) })
		t.known[key] = a
	}
	return a, !ok
}

// expect has a schedule looked at when the wall clock shows the time, or sooner.
func (e *Engine) expect(a *appointment, at time.Time) {
	e.clock.soonest(a.due, e.clock.in(at.Sub(e.wall())))
}

// forget is called when a schedule is gone.
func (e *Engine) forget(key string) {
	t := &e.timetable
	t.mu.Lock()
	a, ok := t.known[key]
	delete(t.known, key)
	t.mu.Unlock()
	if ok {
		e.clock.off(a.due)
	}
}
