package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

// held is a merger of numbers under test: its scripts wait until they are let go, and each call's result is ten times its
// number. It runs in a synctest bubble.
type held struct {
	*testing.T
	*merger[string, int, int]
	begin   chan *heldScript // those that were begun since sent looked last
	scripts map[int]*heldScript
	begun   sync.WaitGroup // as that of a store
	callers sync.WaitGroup
}

// heldScript is known by the number of its first call.
type heldScript struct {
	calls []int
	let   chan error // what it ends with
}

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{T: t, begin: make(chan *heldScript, 100), scripts: make(map[int]*heldScript)}
	together := func(_ context.Context, _ string, calls []int) ([]int, error) {
		s := &heldScript{slices.Clone(calls), make(chan error)}
		h.begin <- s
		if err := <-s.let; err != nil {
			return nil, err
		}
		results := make([]int, len(calls))
		for i, n := range calls {
			results[i] = 10 * n
		}
		return results, nil
	}
	h.merger = newMerger(together)
	return h
}

// outcome is what a caller got.
type outcome struct {
	result int
	err    error
}

// call makes a call of its own goroutine and returns where its answer is when the bubble has come to rest.
func (h *held) call(ctx context.Context, kind string, n int, b burden) *outcome {
	h.Helper()
	a := new(outcome)
	h.begun.Add(1)
	h.callers.Go(func() {
		defer h.begun.Done()
		a.result, a.err = h.do(ctx, &h.begun, kind, n, b)
	})
	synctest.Wait()
	return a
}

// calls makes several that are small.
func (h *held) calls(kind string, from, to int) []*outcome {
	h.Helper()
	var list []*outcome
	for n := from; n <= to; n++ {
		list = append(list, h.call(h.Context(), kind, n, burden{1, 1}))
	}
	return list
}

// sent checks which scripts were begun since it was called last.
func (h *held) sent(want ...[]int) {
	h.Helper()
	var got [][]int
	for len(h.begin) > 0 {
		s := <-h.begin
		h.scripts[s.calls[0]] = s
		got = append(got, s.calls)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("scripts begun (-want +got):\n%s", diff)
	}
}

// end lets the script end of which the first call has that number.
func (h *held) end(first int, err error) {
	h.Helper()
	s := h.scripts[first]
	if s == nil {
		h.Fatalf("no script under way begins with call %d", first)
	}
	delete(h.scripts, first)
	s.let <- err
	synctest.Wait()
}

// finish lets all end that are under way and checks that nothing is left.
func (h *held) finish() {
	h.Helper()
	for _, first := range slices.Sorted(maps.Keys(h.scripts)) {
		h.end(first, nil)
	}
	if n := len(h.begin); n > 0 {
		h.Errorf("%d more scripts were begun", n)
	}
	h.callers.Wait()
	h.begun.Wait()
	if len(h.lines) != 0 {
		h.Errorf("%d lines are left after all calls", len(h.lines))
	}
}

func (h *held) got(what string, answers []*outcome, from int) {
	h.Helper()
	for i, a := range answers {
		if want := 10 * (from + i); a.err != nil || a.result != want {
			h.Errorf("%s: call %d got %d, %v; want %d", what, from+i, a.result, a.err, want)
		}
	}
}

// What comes while others are under way goes together in the next script, in order.
func TestMergeWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		list := h.calls("a", 1, 6)
		h.sent([]int{1}, []int{2})
		h.end(2, nil)
		h.sent([]int{3, 4, 5, 6})
		list = append(list, h.calls("a", 7, 8)...)
		h.sent()
		h.end(1, nil)
		h.sent([]int{7, 8})
		h.end(3, nil)
		h.end(7, nil)
		h.got("all", list, 1)
		list = h.calls("a", 9, 9)
		h.sent([]int{9})
		h.finish()
		h.got("the last", list, 9)
	})
}

// Calls of another kind neither wait nor go with them.
func TestMergeKindsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		h.calls("a", 1, 3)
		h.calls("b", 11, 13)
		h.sent([]int{1}, []int{2}, []int{11}, []int{12})
		h.end(1, nil)
		h.sent([]int{3})
		h.end(11, nil)
		h.sent([]int{13})
		h.finish()
	})
}

// No script gets more than its room; nothing overtakes what does not fit.
func TestMergeBounds(t *testing.T) {
	for name, c := range map[string]struct {
		burdens []burden
		want    [][]int
	}{
		"items": {
			[]burden{{25, 1}, {25, 1}, {25, 1}, {24, 1}, {2, 1}, {1, 1}, {25, 1}},
			[][]int{{1, 2, 3, 4}, {5, 6, 7}},
		},
		"bytes": {
			[]burden{{1, mergeBytes / 4}, {1, mergeBytes / 2}, {1, mergeBytes / 4}, {1, 1}, {1, mergeBytes - 1}, {1, 1}},
			[][]int{{1, 2, 3}, {4, 5}, {6}},
		},
		"more than fits": {
			[]burden{{1, 2 * mergeBytes}, {mergeItems + 1, 1}, {1, 1}},
			[][]int{{1}, {2}, {3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHeld(t)
				h.calls("a", 101, 102)
				h.sent([]int{101}, []int{102})
				var list []*outcome
				for i, b := range c.burdens {
					list = append(list, h.call(t.Context(), "a", i+1, b))
				}
				last := 101
				for _, want := range c.want {
					h.end(last, nil)
					h.sent(want)
					last = want[0]
				}
				h.finish()
				h.got("all", list, 1)
			})
		})
	}
}

// The error of a script is that of all its calls, and of no others.
func TestMergeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		alone := h.calls("a", 1, 2)
		refused := h.calls("a", 3, 5)
		h.sent([]int{1}, []int{2})
		h.end(2, store.ErrGone)
		h.sent([]int{3, 4, 5})
		after := h.calls("a", 6, 7)
		h.end(3, store.ErrStaleConfig)
		h.sent([]int{6, 7})
		h.finish()
		h.got("before it", alone[:1], 1)
		if !errors.Is(alone[1].err, store.ErrGone) {
			t.Errorf("the call by itself got %v, want %v", alone[1].err, store.ErrGone)
		}
		for i, a := range refused {
			if !errors.Is(a.err, store.ErrStaleConfig) {
				t.Errorf("call %d got %v, want %v", 3+i, a.err, store.ErrStaleConfig)
			}
		}
		h.got("after it", after, 6)
	})
}

// Who leaves before the call was sent has changed nothing; who leaves later does not know, and takes nothing from the others.
func TestMergeLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		early, leaveEarly := context.WithCancel(t.Context())
		late, leaveLate := context.WithCancel(t.Context())
		h.calls("a", 1, 2)
		gone := h.call(early, "a", 3, burden{1, 1})
		list := h.calls("a", 4, 5)
		unknown := h.call(late, "a", 6, burden{1, 1})
		list2 := h.calls("a", 7, 7)
		leaveEarly()
		synctest.Wait()
		if !errors.Is(gone.err, context.Canceled) || errors.Is(gone.err, store.ErrUnknown) {
			t.Errorf("a call that left before it was sent got %v, want %v alone", gone.err, context.Canceled)
		}
		h.sent([]int{1}, []int{2})
		h.end(1, nil)
		h.sent([]int{4, 5, 6, 7})
		leaveLate()
		synctest.Wait()
		if !errors.Is(unknown.err, store.ErrUnknown) || !errors.Is(unknown.err, context.Canceled) {
			t.Errorf("a call that left after it was sent got %v, want %v and %v", unknown.err, store.ErrUnknown, context.Canceled)
		}
		h.finish()
		h.got("those who stayed", list, 4)
		h.got("those who stayed", list2, 7)
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := h.do(ended, &h.begun, "a", 8, burden{1, 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("a call whose context had ended got %v, want %v", err, context.Canceled)
		}
		h.sent()
	})
}

// Callers that stay get the answer of what was sent, and leave only what was not.
func TestMergeStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		h.stay = true
		ctx, leave := context.WithCancel(t.Context())
		h.calls("a", 1, 2)
		h.sent([]int{1}, []int{2})
		stays := h.call(ctx, "a", 3, burden{1, 1})
		h.end(1, nil)
		h.sent([]int{3})
		waits := h.call(ctx, "a", 4, burden{1, 1})
		leave()
		synctest.Wait()
		if !errors.Is(waits.err, context.Canceled) {
			t.Errorf("a call that was not sent got %v, want %v", waits.err, context.Canceled)
		}
		if stays.err != nil || stays.result != 0 {
			t.Errorf("a call that was sent got %d, %v before it had ended", stays.result, stays.err)
		}
		h.finish()
		h.got("who stayed", []*outcome{stays}, 3)
	})
}

// When all who wait leave, nothing is sent for them.
func TestMergeAllLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		ctx, leave := context.WithCancel(t.Context())
		h.calls("a", 1, 2)
		for n := 3; n < 6; n++ {
			h.call(ctx, "a", n, burden{1, 1})
		}
		leave()
		synctest.Wait()
		h.sent([]int{1}, []int{2})
		h.finish()
	})
}

func TestSplitSend(t *testing.T) {
	t.Parallel()
	const a, d, x, r = store.Accepted, store.Duplicate, store.Dropped, store.Refused
	fate := func(v store.Verdict, seq store.Seq) store.Fate { return store.Fate{Verdict: v, Seq: seq} }
	for name, c := range map[string]struct {
		whole   store.SendResult
		gaveWay []int
		sizes   []int
		want    []store.SendResult
	}{
		"all accepted": {
			store.SendResult{First: 5, Count: 6, NextDue: 7},
			nil,
			[]int{1, 3, 2},
			[]store.SendResult{{First: 5, Count: 1, NextDue: 7}, {First: 6, Count: 3, NextDue: 7}, {First: 9, Count: 2, NextDue: 7}},
		},
		"some not": {
			store.SendResult{First: 5, Count: 3, Fates: []store.Fate{fate(a, 5), fate(d, 2), fate(a, 6), fate(x, 0), fate(r, 0), fate(a, 7)}},
			nil,
			[]int{2, 1, 2, 1},
			[]store.SendResult{
				{First: 5, Count: 1, Fates: []store.Fate{fate(a, 5), fate(d, 2)}},
				{First: 6, Count: 1},
				{First: 7, Fates: []store.Fate{fate(x, 0), fate(r, 0)}},
				{First: 7, Count: 1},
			},
		},
		"with room made": {
			store.SendResult{First: 9, Count: 4, Evicted: 6},
			[]int{0, 3, 1, 2},
			[]int{1, 2, 1},
			[]store.SendResult{{First: 9, Count: 1}, {First: 10, Count: 2, Evicted: 4}, {First: 12, Count: 1, Evicted: 2}},
		},
		"none accepted": {
			store.SendResult{First: 4, Fates: []store.Fate{fate(d, 1), fate(d, 2)}},
			nil,
			[]int{1, 1},
			[]store.SendResult{{First: 4, Fates: []store.Fate{fate(d, 1)}}, {First: 4, Fates: []store.Fate{fate(d, 2)}}},
		},
	} {
		if diff := cmp.Diff(c.want, splitSend(c.whole, c.gaveWay, c.sizes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
