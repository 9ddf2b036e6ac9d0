package model

import "github.com/dabba-mq/dabba/store"

// byWall is what waits for the wall clock to show a time. A message that was never touched is of kind planned, with that time
// in its columns; one with a slot is delayed without an end in queue time, and is listed in until.
type byWall struct {
	// ahead is by how much the wall clock is ahead of queue time since an instant, as far as the queue knows.
	ahead Ahead
	since Millis
	// walls lists by the wall clock when they become ready; some may not wait any more.
	walls agenda
	// until is what those with a slot wait for.
	until map[store.Seq]Millis
	// planned counts those of kind planned.
	planned int64
}

// endless is the end, in queue time, of a delay that the wall clock ends. It is far from overflowing.
const endless = Millis(1 << 61)

// Waits says whether messages wait for the wall clock.
func (q *Queue) Waits() bool { return q.byWall.planned > 0 || len(q.byWall.until) > 0 }

// Ahead is by how much the wall clock is ahead, as far as the queue knows.
func (q *Queue) Ahead() Ahead { return q.byWall.ahead }

// Step returns the event that the wall clock is ahead by another measure than the queue knows.
func (q *Queue) Step(now Millis, ahead Ahead) Stepped {
	ev := Stepped{At: max(now, q.now), Before: q.now, Ahead: ahead}
	q.ApplyStepped(ev)
	return ev
}

// ApplyStepped repeats a Step.
func (q *Queue) ApplyStepped(ev Stepped) {
	q.advance(ev.Before)
	q.byWall.set(ev.Ahead, ev.At)
	q.advance(ev.At)
}

// set changes by how much the wall clock is ahead. What that makes due was not due before.
func (b *byWall) set(ahead Ahead, since Millis) {
	if ahead != b.ahead {
		b.ahead, b.since = ahead, since
	}
}

// dueByWall is when the wall clock shows a time, in queue time.
func (q *Queue) dueByWall(wall Millis) Millis { return max(wall-Millis(q.byWall.ahead), 0) }

// waitsUntil says whether a message still waits for the wall clock to show a time.
func (q *Queue) waitsUntil(e entry) bool {
	seq := store.Seq(e.id)
	if q.cols.kind(seq) == planned {
		return true // one that waits for something else is not listed
	}
	return q.byWall.until[seq] == e.at
}

// firstByWall is when the first of them becomes ready, in queue time.
func (q *Queue) firstByWall() (Millis, bool) {
	b := &q.byWall
	for len(b.walls) > 0 {
		if e := b.walls[0]; q.waitsUntil(e) {
			return max(q.dueByWall(e.at), b.since), true
		}
		b.walls.take()
	}
	return 0, false
}

// ripenByWall makes ready what the wall clock lets.
func (q *Queue) ripenByWall(now Millis) {
	for {
		at, ok := q.firstByWall()
		if !ok || at > now {
			return
		}
		seq := store.Seq(q.byWall.walls.take().id)
		q.setReady(q.touch(seq), at)
	}
}

// waitByWall makes slot n, which is in no state, wait until the wall clock shows a time.
func (q *Queue) waitByWall(n uint32, wall Millis) {
	seq := q.slots.slab[n].seq
	if q.byWall.until == nil {
		q.byWall.until = make(map[store.Seq]Millis)
	}
	q.byWall.until[seq] = wall
	q.byWall.walls.add(wall, uint64(seq))
	q.setDelayed(n, delayed, endless)
}

// tidyByWall lets go of what became void.
func (q *Queue) tidyByWall() {
	b := &q.byWall
	n := b.planned + int64(len(b.until))
	if len(b.walls) <= 64 || int64(len(b.walls)) <= 2*n {
		return
	}
	b.walls.tidy(n, func(seq store.Seq) bool { return q.cols.kind(seq) == planned || b.until[seq] != 0 })
}

// dueOf is when a planned message becomes ready, in queue time.
func (q *Queue) dueOf(seq store.Seq) Millis {
	if q.cols.byWall(seq) {
		return q.dueByWall(q.cols.due(seq))
	}
	return q.cols.due(seq)
}

// slotDue is when the delay or lease of a slot ends, in queue time.
func (q *Queue) slotDue(s *slot) Millis {
	if wall, waits := q.byWall.until[s.seq]; waits {
		return min(s.due, q.dueByWall(wall))
	}
	return s.due
}
