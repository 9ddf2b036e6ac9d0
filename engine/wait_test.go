package engine

import (
	"sync"
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

// TestNoSignalIsLost has a sender that adds an item and signals, and receivers that take items one by one and enter
// the line when there are none. Without lost signals all items are taken and all receivers end.
func TestNoSignalIsLost(t *testing.T) {
	t.Parallel()
	const items, receivers = 20_000, 4
	var l line
	var mu sync.Mutex
	ready, taken := 0, 0
	take := func() (ok, all bool) {
		mu.Lock()
		defer mu.Unlock()
		if ready == 0 {
			return false, taken == items
		}
		ready--
		taken++
		return true, taken == items
	}
	var done sync.WaitGroup
	for range receivers {
		done.Go(func() {
			w := newWaiter()
			for {
				seen := l.seen()
				ok, all := take()
				switch {
				case all:
					l.stir()
					return
				case ok:
				case l.enter(w, seen, false):
					<-w.verdict
				}
			}
		})
	}
	for range items {
		mu.Lock()
		ready++
		mu.Unlock()
		l.signal()
	}
	done.Wait()
}
