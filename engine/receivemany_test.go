package engine

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestOrderOfQueuesByWeight(t *testing.T) {
	t.Parallel()
	var rnd random
	if err := rnd.init(strings.NewReader("12345678")); err != nil {
		t.Fatal(err)
	}
	req := ReceiveManyRequest{Queues: []Ref{{"t", "a"}, {"t", "b"}, {"t", "c"}}, Weights: []int{6, 3, 1}}
	const draws = 100_000
	var first, second [3]int // second: after a was first
	for range draws {
		order := req.order(&rnd)
		if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, []int{0, 1, 2}) {
			t.Fatalf("order %v does not have each queue once", order)
		}
		first[order[0]]++
		if order[0] == 0 {
			second[order[1]]++
		}
	}
	for i, want := range []float64{0.6, 0.3, 0.1} {
		if got := float64(first[i]) / draws; math.Abs(got-want) > 0.01 {
			t.Errorf("queue %d of weight %d was first in %.3f of all draws, want %.1f", i, req.Weights[i], got, want)
		}
	}
	for i, want := range []float64{0, 0.75, 0.25} {
		if got := float64(second[i]) / float64(first[0]); math.Abs(got-want) > 0.01 {
			t.Errorf("queue %d was second in %.3f of the draws with queue 0 first, want %.2f", i, got, want)
		}
	}
	req.Weights = nil
	if order := req.order(&rnd); !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("order without weights: got %v, want that of the request", order)
	}
}

// TestVerdictsOfSeveralLines has both lines of a receive call before it listens.
func TestVerdictsOfSeveralLines(t *testing.T) {
	t.Parallel()
	a, b := &queue{}, &queue{}
	ts := &tries{all: []*try{{queue: a}, {queue: b}}, bell: make(chan verdict, 2)}
	for range 3 { // verdicts that stay in the bell would fill it
		for _, t := range ts.all {
			t.seen = t.queue.line.seen()
		}
		if !ts.enter(ts.all[0], false) || !ts.enter(ts.all[1], false) {
			t.Fatal("cannot enter a line without signals")
		}
		a.line.signal()
		b.line.signal()
		<-ts.bell
		if v := ts.called(); v != tryAgain || len(ts.bell) != 0 {
			t.Errorf("both lines called: got verdict %d, %d left in the bell, want tryAgain, none", v, len(ts.bell))
		}
		for i, t2 := range ts.all {
			if p := &t2.spot; p.standing || !p.woken {
				t.Errorf("spot %d: standing %t, woken %t, want woken alone", i, p.standing, p.woken)
			}
			t2.spot.woken = false
		}
	}
}

// TestLeavingHandsOnEachWake has one line call, and the receive leave all without trying.
func TestLeavingHandsOnEachWake(t *testing.T) {
	t.Parallel()
	a, b := &queue{}, &queue{}
	ts := &tries{all: []*try{{queue: a}, {queue: b}}, bell: make(chan verdict, 2)}
	ts.enter(ts.all[0], false)
	ts.enter(ts.all[1], false)
	other := newWaiter()
	b.line.enter(other, b.line.seen(), false)
	b.line.signal()
	ts.leave()
	if got := verdictOf(other); got != tryAgain {
		t.Errorf("next in line: got verdict %d, want tryAgain", got)
	}
	if n := a.line.waiting.Load() + b.line.waiting.Load(); n != 0 || len(ts.bell) != 0 {
		t.Errorf("%d wait and %d verdicts are in the bell after all have left, want none", n, len(ts.bell))
	}
}
