package engine

import (
	"sync"
	"sync/atomic"
	"testing"
)

func newWaiter() *waiter { return &waiter{verdict: make(chan verdict, 1)} }

// verdictOf is the verdict w has by now, 0 for none.
func verdictOf(w *waiter) verdict {
	select {
	case v := <-w.verdict:
		return v
	default:
		return 0
	}
}

func TestSignalWakesOldestWaiter(t *testing.T) {
	t.Parallel()
	var l line
	a, b, c := newWaiter(), newWaiter(), newWaiter()
	l.enter(a, l.seen(), false)
	l.enter(b, l.seen(), false)
	l.enter(c, l.seen(), true) // woken for nothing before, so it is the oldest
	for i, w := range []*waiter{c, a, b} {
		l.signal()
		if got := verdictOf(w); got != tryAgain {
			t.Errorf("signal %d: the waiter in turn got verdict %d, want tryAgain", i, got)
		}
	}
	if n := l.waiting.Load(); n != 0 {
		t.Errorf("%d wait after all were woken", n)
	}
}

func TestSignalBeforeEnterIsNotLost(t *testing.T) {
	t.Parallel()
	var l line
	seen := l.seen()
	l.signal()
	if l.enter(newWaiter(), seen, false) {
		t.Error("a waiter entered although there was a signal since its claim")
	}
}

func TestWakeOfOneThatLeavesIsHandedOn(t *testing.T) {
	t.Parallel()
	var l line
	a, b := newWaiter(), newWaiter()
	l.enter(a, l.seen(), false)
	l.enter(b, l.seen(), false)
	l.signal()
	l.leave(a)
	if got := verdictOf(b); got != tryAgain {
		t.Errorf("second waiter: got verdict %d, want tryAgain", got)
	}
}

func TestLeaveFromAnyPlace(t *testing.T) {
	t.Parallel()
	for leaver := range 3 {
		var l line
		all := []*waiter{newWaiter(), newWaiter(), newWaiter()}
		for _, w := range all {
			l.enter(w, l.seen(), false)
		}
		l.leave(all[leaver])
		l.dismissAll()
		for i, w := range all {
			want := dismissed
			if i == leaver {
				want = 0
			}
			if got := verdictOf(w); got != want {
				t.Errorf("waiter %d left, waiter %d: got verdict %d, want %d", leaver, i, got, want)
			}
		}
	}
}

// TestNoSignalIsLost has a sender that adds one item, signals, and waits until it was taken, and receivers that enter
// the line when there is nothing to take. A lost signal would leave all of them waiting for ever.
func TestNoSignalIsLost(t *testing.T) {
	t.Parallel()
	const items, receivers = 20_000, 4
	var l line
	var ready atomic.Int64
	var closed atomic.Bool
	taken := make(chan struct{})
	var done sync.WaitGroup
	for range receivers {
		done.Go(func() {
			w := newWaiter()
			for !closed.Load() {
				seen := l.seen()
				if ready.CompareAndSwap(1, 0) {
					taken <- struct{}{}
				} else if !closed.Load() && l.enter(w, seen, false) {
					<-w.verdict
				}
			}
		})
	}
	for range items {
		ready.Store(1)
		l.signal()
		<-taken
	}
	closed.Store(true)
	l.stir()
	done.Wait()
}
