package engine

import "time"

// What tells a node that something became ready elsewhere may be lost: a subscription promises nothing. So on a store that
// is shared those who wait are let try now and then, without being told: in each queue the one whose turn it is, and in
// each partition the one that waits longest. Everything is visited once in about nudgeEvery, an eighth at a time, so that
// not all try at once.
const (
	nudgeEvery = 5 * time.Second
	nudgeParts = 8
)

// nudges belong to the clock's goroutine, once they run.
type nudges struct {
	due  *alarm
	part uint64
}

func (e *Engine) startNudges() {
	e.nudges.due = newAlarm(e.nudge)
	e.planNudge()
}

// planNudge sets the next one for one eighth of nudgeEvery from now, give or take half of that.
func (e *Engine) planNudge() {
	const step = nudgeEvery / nudgeParts
	e.clock.soonest(e.nudges.due, e.clock.in(step/2+time.Duration(e.random.upTo(uint64(step)))))
}

// nudge is called by the clock.
func (e *Engine) nudge() {
	part := e.nudges.part % nudgeParts
	e.nudges.part++
	for q := range e.catalog.all() {
		if uint64(q.id)%nudgeParts == part && q.line.waiting.Load() > 0 {
			q.line.signal()
		}
	}
	for t := range e.topics.all() {
		if uint64(t.id)%nudgeParts != part {
			continue
		}
		for _, l := range t.setup.Load().lines {
			l.nudge()
		}
	}
	e.planNudge()
}
