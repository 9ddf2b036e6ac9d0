package redis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dabba-mq/dabba/store"
)

const (
	// mergeItems and mergeBytes bound what goes together in one script: the server does nothing else while it runs.
	mergeItems = 100
	mergeBytes = 1 << 20
	// mergeShare is the part of that above which a call goes by itself: little would fit beside it.
	mergeShare = 4
	// mergeAbreast is how many scripts of one line are under way at once, so that the server has the next one already
	// while the answer to the last one is on its way.
	mergeAbreast = 2
)

// mergers are those of a store.
type mergers struct {
	sends   *merger[sendKind, store.SendParams, store.SendResult]
	settles *merger[settleKind, store.SettleParams, store.SettleResult]
	claims  *merger[claimKind, store.ClaimParams, claimed]
}

func newMergers() mergers {
	m := mergers{newMerger(sendTogether), newMerger(settleTogether), newMerger(claimTogether)}
	m.claims.stay = true
	return m
}

// merge makes a call of the store through a merger.
func merge[K comparable, P, R any](ctx context.Context, s *Store, m *merger[K, P, R], kind K, call P, b burden) (R, error) {
	if err := s.enter(); err != nil {
		var none R
		return none, err
	}
	defer s.calls.Done()
	return m.do(ctx, &s.calls, kind, call, b)
}

// burden is what a call takes of the room in a script.
type burden struct{ items, bytes int }

func (b burden) plus(c burden) burden { return burden{b.items + c.items, b.bytes + c.bytes} }

// fits says whether so much goes into one script.
func (b burden) fits() bool { return b.items <= mergeItems && b.bytes <= mergeBytes }

// small says that a call leaves room for others beside it.
func (b burden) small() bool {
	return b.items <= mergeItems/mergeShare && b.bytes <= mergeBytes/mergeShare
}

// merger lets calls that are alike share a script: what comes while others of the kind are under way waits for one of
// them to end, and goes together then, in the order in which it came. Nothing waits for company: a call without others
// before it is made at once, by itself. K tells what may go together, P is a call and R its result.
//
// A merger is safe for concurrent use.
type merger[K comparable, P, R any] struct {
	// together makes calls one after the other in one transition and returns a result for each. An error is that of all.
	together func(ctx context.Context, kind K, calls []P) ([]R, error)
	// stay has callers wait for what was sent, also when their contexts have ended: they look after what it did.
	stay bool

	mu    sync.Mutex
	lines map[K]*mergeLine[P, R] // those with calls under way
}

// mergeLine is what is under way or waits of one kind. Something waits only while as much as may be is under way.
type mergeLine[P, R any] struct {
	under   int
	waiting []*merged[P, R]
}

// merged is a call that waits, or goes with others.
type merged[P, R any] struct {
	call   P
	burden burden
	// sent is set under the merger's lock when it is no longer taken back.
	sent bool
	// done is closed when result and err are there.
	done   chan struct{}
	result R
	err    error
}

func newMerger[K comparable, P, R any](together func(context.Context, K, []P) ([]R, error)) *merger[K, P, R] {
	return &merger[K, P, R]{together: together, lines: make(map[K]*mergeLine[P, R])}
}

// do makes a call, with others if it has to wait. When ctx ends before it was sent, nothing was changed; afterwards,
// unless callers stay, the error wraps [store.ErrUnknown], and the call goes on for the sake of the others. begun counts
// the scripts under way that nobody may wait for any more; the caller is one of those it counts.
func (m *merger[K, P, R]) do(ctx context.Context, begun *sync.WaitGroup, kind K, call P, b burden) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	m.mu.Lock()
	line := m.lines[kind]
	if line == nil {
		line = &mergeLine[P, R]{}
		m.lines[kind] = line
	}
	if line.under < mergeAbreast {
		line.under++
		m.mu.Unlock()
		results, err := m.together(ctx, kind, []P{call})
		m.ended(ctx, begun, kind, line)
		if err != nil {
			return none, err
		}
		return results[0], nil
	}
	w := &merged[P, R]{call: call, burden: b, done: make(chan struct{})}
	line.waiting = append(line.waiting, w)
	m.mu.Unlock()
	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		if m.leave(line, w) {
			return none, ctx.Err()
		}
	}
	if !m.stay {
		select {
		case <-w.done:
		default:
			return none, fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
		}
	}
	<-w.done
	return w.result, w.err
}

// leave takes a call back, unless it was sent.
func (m *merger[K, P, R]) leave(line *mergeLine[P, R], w *merged[P, R]) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.sent {
		return false
	}
	line.waiting = slices.DeleteFunc(line.waiting, func(other *merged[P, R]) bool { return other == w })
	return true
}

// ended is called when a script of a line has ended: what waits goes next. It does not keep the caller.
func (m *merger[K, P, R]) ended(ctx context.Context, begun *sync.WaitGroup, kind K, line *mergeLine[P, R]) {
	group := m.next(kind, line)
	if group == nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // it is not that of those who wait
	begun.Go(func() {
		for ; group != nil; group = m.next(kind, line) {
			m.send(ctx, kind, group)
		}
	})
}

// next takes out of a line what goes together now; nil when nothing waits.
func (m *merger[K, P, R]) next(kind K, line *mergeLine[P, R]) []*merged[P, R] {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, sum := 0, burden{}
	for n < len(line.waiting) && (n == 0 || sum.plus(line.waiting[n].burden).fits()) {
		sum = sum.plus(line.waiting[n].burden)
		line.waiting[n].sent = true
		n++
	}
	if n > 0 {
		group := line.waiting[:n:n]
		if line.waiting = line.waiting[n:]; len(line.waiting) == 0 {
			line.waiting = nil
		}
		return group
	}
	if line.under--; line.under == 0 {
		delete(m.lines, kind)
	}
	return nil
}

// send makes the calls of a group and tells each what it came to.
func (m *merger[K, P, R]) send(ctx context.Context, kind K, group []*merged[P, R]) {
	calls := make([]P, len(group))
	for i, w := range group {
		calls[i] = w.call
	}
	results, err := m.together(ctx, kind, calls)
	for i, w := range group {
		if w.err = err; err == nil {
			w.result = results[i]
		}
		close(w.done)
	}
}
