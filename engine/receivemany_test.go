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
