package enginetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dabba-mq/dabba/engine"
)

// cool queue what for=: whether it began.
func (s *session) cool(c command) string {
	began, err := s.engine.Cool(s.Context(), s.ref(c), c.words[1], *s.duration(c, "for"))
	switch {
	case err != nil:
		return problem(err)
	case began:
		return "began"
	}
	return "runs already"
}

// cooling queue what.
func (s *session) isCooling(c command) string {
	runs, err := s.engine.Cooling(s.Context(), s.ref(c), c.words[1])
	switch {
	case err != nil:
		return problem(err)
	case runs:
		return "runs"
	}
	return "none"
}

// wantCooled checks how many cooling-off times the store has.
func (b *bundle) wantCooled(want int) {
	b.Helper()
	pairs, err := b.store.List(b.Context(), "cool/", "", 10_000)
	if err != nil || len(pairs) != want {
		b.Errorf("cooling-off times in the store: got %d, %v, want %d", len(pairs), err, want)
	}
}

// coolingOffIsForgotten has many of them end, in the background and while the engine is down.
func coolingOffIsForgotten(b *bundle) {
	const many = 250 // more than are removed at a time
	cool := func(i int, d time.Duration) {
		b.Helper()
		if began, err := b.engine.Cool(b.Context(), named(fmt.Sprint("q", i)), "purge", d); err != nil || !began {
			b.Fatalf("cool %d: got %t, %v, want it to begin", i, began, err)
		}
	}
	for i := range many {
		cool(i, time.Minute)
	}
	cool(many, time.Hour)
	b.wantCooled(many + 1)
	b.advance(time.Minute - time.Second)
	b.wantCooled(many + 1)
	b.advance(time.Second)
	b.wantCooled(1)
	b.advance(time.Hour)
	b.wantCooled(0)

	cool(0, time.Second)
	cool(1, time.Hour)
	b.stop()
	time.Sleep(time.Minute)
	b.start()
	b.wantCooled(1)
	b.jump(time.Hour)
	b.wantCooled(0)
}

// coolingOffBeginsOnce has many ask for it at once, each time after it has ended.
func coolingOffBeginsOnce(b *bundle) {
	for range 10 {
		var began atomic.Int64
		var done sync.WaitGroup
		for range 20 {
			done.Go(func() {
				ok, err := b.engine.Cool(b.Context(), ref, "purge", time.Minute)
				if err != nil {
					b.Errorf("cool: %v", err)
				}
				if ok {
					began.Add(1)
				}
			})
		}
		done.Wait()
		if n := began.Load(); n != 1 {
			b.Errorf("it began %d times, want once", n)
		}
		b.jump(time.Minute)
	}
}

// coolingOffIsSharedByNodes has two engines on one store.
func coolingOffIsSharedByNodes(b *bundle) {
	other := b.another()
	for i, node := range []*engine.Engine{b.engine, other} {
		if began, err := node.Cool(b.Context(), ref, "delete", time.Minute); err != nil || began != (i == 0) {
			b.Errorf("cool on node %d: got %t, %v, want %t", i, began, err, i == 0)
		}
		if runs, err := node.Cooling(b.Context(), ref, "delete"); err != nil || !runs {
			b.Errorf("cooling on node %d: got %t, %v, want true", i, runs, err)
		}
	}
}
