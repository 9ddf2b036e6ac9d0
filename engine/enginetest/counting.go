package enginetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/engine"
	"github.com/dabba-mq/dabba/store"
)

// wantAll counts the queues of all tenants, of which there must be so many.
func (b *bundle) wantAll(queues int) []engine.Queue {
	b.Helper()
	all := b.engine.AllQueues(b.Context())
	if all.Unlisted != nil || len(all.Uncounted) > 0 || len(all.Queues) != queues {
		b.Errorf("queues of all tenants: got %d, not %v, the catalog: %v, want %d", len(all.Queues), all.Uncounted, all.Unlisted, queues)
	}
	return all.Queues
}

// wantCounted compares by name which queues were counted and which were not.
func (b *bundle) wantCounted(all engine.Counted, counted, not []string) {
	b.Helper()
	var got, gotNot []string
	for i := range all.Queues {
		got = append(got, all.Queues[i].Ref.Name)
	}
	for _, u := range all.Uncounted {
		gotNot = append(gotNot, u.Ref.Name)
	}
	if !slices.Equal(got, counted) || !slices.Equal(gotNot, not) {
		b.Errorf("counted %q and not %q, want %q and not %q", got, gotNot, counted, not)
	}
}

// generations are the ids of queues that are created here, with a message in each.
func (b *bundle) generations(names ...string) map[store.QueueID]string {
	b.Helper()
	ids := make(map[store.QueueID]string)
	for _, name := range names {
		b.put(named(name))
		b.send(named(name), "m")
		known, err := b.store.Queues(b.Context(), 0, 10_000)
		if err != nil {
			b.Fatal(err)
		}
		for _, id := range known {
			if _, found := ids[id]; !found {
				ids[id] = name
			}
		}
	}
	return ids
}

func aQueueThatCannotBeCountedIsLeftOut(b *bundle) {
	ids := b.generations("a", "b", "c")
	b.store.uncounted.Store(new(func(_ context.Context, q store.QueueID) error {
		if ids[q] == "b" {
			return fmt.Errorf("its server is down: %w", store.ErrUnavailable)
		}
		return nil
	}))
	all := b.engine.AllQueues(b.Context())
	b.wantCounted(all, []string{"a", "c"}, []string{"b"})
	if all.Unlisted != nil || len(all.Uncounted) != 1 || engine.ErrorOf(all.Uncounted[0].Err).Code != engine.CodeUnavailable {
		b.Errorf("got %+v, want only b to be unavailable", all)
	}
	for i := range all.Queues {
		if q := &all.Queues[i]; q.Counts.Ready != 1 {
			b.Errorf("%s has %d ready messages, want 1", q.Ref, q.Counts.Ready)
		}
	}
	b.store.uncounted.Store(nil)
	b.wantAll(3)
}

// partsThatDoNotAnswerHoldUpNoCount has far more queues that do not answer than are counted at a time, before one that does.
func partsThatDoNotAnswerHoldUpNoCount(b *bundle) {
	const silent, limit = 200, 4 * time.Second
	var names []string
	for i := range silent {
		names = append(names, fmt.Sprintf("q%03d", i))
	}
	ids := b.generations(append(slices.Clone(names), "well")...)
	b.store.uncounted.Store(new(func(ctx context.Context, q store.QueueID) error {
		if ids[q] == "well" {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	for _, within := range []time.Duration{limit, time.Second} {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(b.Context(), within)
		all := b.engine.AllQueues(ctx)
		cancel()
		b.wantCounted(all, []string{"well"}, names)
		if took := time.Since(begun); took > within {
			b.Errorf("counting within %v took %v", within, took)
		}
	}
}

func knownQueuesAreCountedWithoutTheCatalog(b *bundle) {
	ids := b.generations("b", "a")
	b.store.unlisted.Store(new(func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	b.store.uncounted.Store(new(func(_ context.Context, q store.QueueID) error {
		if ids[q] == "b" {
			return store.ErrUnavailable
		}
		return nil
	}))
	begun := time.Now()
	all := b.engine.AllQueues(b.Context())
	b.wantCounted(all, []string{"a"}, []string{"b"})
	if engine.ErrorOf(all.Unlisted).Code != engine.CodeUnavailable {
		b.Errorf("the catalog, which does not answer: got %v, want it to be unavailable", all.Unlisted)
	}
	if took := time.Since(begun); took > 2*time.Second {
		b.Errorf("without an answer of the catalog it took %v, want at most 2s", took)
	}
	b.store.unlisted.Store(nil)
	b.store.uncounted.Store(nil)
	b.wantAll(2)
}
