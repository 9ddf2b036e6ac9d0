package engine

import (
	"sync"
	"sync/atomic"
)

// line is where the receives of one queue wait. The zero value is an empty line.
//
// Its invariant: whoever claimed nothing and then entered with the number of signals read before that claim has
// either been in line at every later signal or was told to try again. For that, signal counts before it looks for
// waiters, and enter shows itself before it looks at the count.
//
// It holds for each line apart. A receive that stands in several tries all of its queues when one of the lines calls, and
// stays in the others meanwhile. What they tell it while it tries it hands on when it leaves, unless it tries again.
type line struct {
	signals atomic.Uint64
	waiting atomic.Int64

	mu    sync.Mutex
	first *waiter
	last  *waiter
}

// verdict is why a waiter need not wait any longer.
type verdict uint8

const (
	// tryAgain: something may be ready. It must be handed on, with signal, by a waiter that does not try.
	tryAgain verdict = iota + 1
	// dismissed: the time is up, or the engine drains.
	dismissed
	// tryAlone: nothing is known to have become ready. It is not handed on.
	tryAlone
)

// waiter is one receive in one line. It belongs to one goroutine; a line holds it at most once. A receive from several
// queues is a waiter in the line of each.
type waiter struct {
	// verdict has room for the one it gets each time it is taken out of the line by someone else. The waiters of one
	// receive share it, with room for one of each; told says then whose a verdict was.
	verdict chan verdict

	// The rest is guarded by line.mu.
	in bool
	// told is the verdict since it entered; 0 for none.
	told       verdict
	prev, next *waiter
}

// signal says that something may have become ready: it wakes the oldest waiter.
func (l *line) signal() {
	l.signals.Add(1)
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		l.take(l.first, tryAgain)
	}
}

// nudge lets the oldest waiter try although there was no signal.
func (l *line) nudge() {
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		l.take(l.first, tryAlone)
	}
}

// seen is the number of signals so far, to be read before a claim.
func (l *line) seen() uint64 { return l.signals.Load() }

// enter puts w in line, in front if it has been woken for nothing. It refuses when there were signals since seen.
func (l *line) enter(w *waiter, seen uint64, inFront bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Add(1)
	if l.signals.Load() != seen {
		l.waiting.Add(-1)
		return false
	}
	w.in, w.told = true, 0
	switch {
	case l.first == nil:
		l.first, l.last = w, w
	case inFront:
		w.next, l.first.prev = l.first, w
		l.first = w
	default:
		w.prev, l.last.next = l.last, w
		l.last = w
	}
	return true
}

// leave takes w out of the line. If it was woken instead, the wake is handed on.
func (l *line) leave(w *waiter) {
	v := l.withdraw(w)
	if v == 0 {
		return
	}
	<-w.verdict
	if v == tryAgain {
		l.signal()
	}
}

// withdraw takes w out of the line, or gives the verdict with which that was done already: the caller hands it on.
func (l *line) withdraw(w *waiter) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.in {
		l.remove(w)
	}
	return w.told
}

// told gives the verdict with which w was taken out of the line; 0 while it stands there.
func (l *line) told(w *waiter) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.told
}

// dismiss ends the wait of w if it still waits.
func (l *line) dismiss(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.in {
		l.take(w, dismissed)
	}
}

// dismissAll ends the wait of all.
func (l *line) dismissAll() { l.takeAll(dismissed) }

// stir lets all try again, and those about to enter.
func (l *line) stir() {
	l.signals.Add(1)
	l.takeAll(tryAgain)
}

func (l *line) takeAll(v verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.first != nil {
		l.take(l.first, v)
	}
}

// take removes w and tells it why. l.mu is held; the channel has room.
func (l *line) take(w *waiter, v verdict) {
	l.remove(w)
	w.told = v
	w.verdict <- v
}

func (l *line) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.in, w.prev, w.next = false, nil, nil
	l.waiting.Add(-1)
}
