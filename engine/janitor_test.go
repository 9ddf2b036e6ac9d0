package engine

import (
	"testing"
	"time"
)

// TestDueSoonAfterASweepIsNotForgotten has a queue come due while it was swept just before.
func TestDueSoonAfterASweepIsNotForgotten(t *testing.T) {
	t.Parallel()
	e := &Engine{clock: newClock(time.Now)}
	e.catalog.init()
	e.janitor.init()
	q := e.install(Ref{"t", "q"}, record{id: 1})
	swept := e.clock.moment() + moment(time.Hour) // so that it is surely not long ago
	q.swept.Store(int64(swept))
	e.ringDue(q)
	if e.janitor.next() != nil {
		t.Error("the queue was swept again at once")
	}
	if got, want := moment(q.due.at.Load()), swept+sweepPause; got != want {
		t.Errorf("the queue is due again at %d, want %d", got, want)
	}
}

func TestJanitorVisitsEachQueueOnce(t *testing.T) {
	t.Parallel()
	var j chores[*queue]
	j.init()
	a, b := new(queue), new(queue)
	for _, q := range []*queue{a, b, a, a, b} {
		j.add(q)
	}
	for i, want := range []*queue{a, b, nil, nil} {
		if got := j.next(); got != want {
			t.Errorf("visit %d: got %p, want %p", i, got, want)
		}
	}
	j.add(a)
	if got := j.next(); got != a {
		t.Errorf("visit after another add: got %p, want %p", got, a)
	}
}
