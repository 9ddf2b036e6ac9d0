package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
)

const (
	// listTime is how long [Engine.AllQueues] lets the catalog take, countTime each queue.
	listTime  = 2 * time.Second
	countTime = 2 * time.Second
	// countsAbreast is how many queues are counted at a time. One that takes longer than countPatience leaves its place to
	// another, so that a part of the store that does not answer does not hold up the queues of all others.
	countsAbreast = 32
	countPatience = 50 * time.Millisecond
)

// Counted are the queues of all tenants, as far as they could be counted.
type Counted struct {
	// Queues are those that could, by tenant and name.
	Queues []Queue
	// Uncounted are those that could not, in the same order.
	Uncounted []Uncounted
	// Unlisted is why the catalog could not be read, nil if it could. If not, the queues are those that this engine knows: what
	// others have made lately is missing.
	Unlisted error
}

// Uncounted is a queue that could not be counted, and why. Ref is zero if its entry in the catalog cannot be read.
type Uncounted struct {
	Ref Ref
	Err error
}

// AllQueues counts the queues of all tenants: for metrics, never for a tenant's eyes. One that cannot be counted, or not within
// two seconds, is in no other's way. When ctx ends it returns what was counted until then.
func (e *Engine) AllQueues(ctx context.Context) Counted {
	pairs, err := e.allPairs(ctx)
	all := Counted{Unlisted: err}
	if err != nil {
		pairs = e.knownPairs()
	}
	found, errs := e.countEach(ctx, pairs)
	for i, err := range errs {
		switch {
		case err == nil:
			all.Queues = append(all.Queues, found[i])
		case ErrorOf(err).Code != CodeNotFound: // else it was deleted meanwhile
			ref, _ := refOfKey(pairs[i].Key)
			all.Uncounted = append(all.Uncounted, Uncounted{ref, err})
		}
	}
	return all
}

// allPairs are the entries of all queues, without their values.
func (e *Engine) allPairs(ctx context.Context) ([]store.Pair, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var pairs []store.Pair
	err := e.eachPair(ctx, catalogPrefix, pageSize, func(p store.Pair) error {
		pairs = append(pairs, store.Pair{Key: p.Key, Revision: p.Revision})
		return nil
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("list the queues of all tenants: %w", err))
	}
	return pairs, nil
}

// knownPairs are the same of the queues that are known here.
func (e *Engine) knownPairs() []store.Pair {
	var pairs []store.Pair
	for q := range e.catalog.all() {
		pairs = append(pairs, store.Pair{Key: catalogKey(q.ref), Revision: q.setup.Load().revision})
	}
	slices.SortFunc(pairs, func(a, b store.Pair) int { return cmp.Compare(a.Key, b.Key) })
	return pairs
}

// countEach shows the queues whose entries are given, each for itself.
func (e *Engine) countEach(ctx context.Context, pairs []store.Pair) ([]Queue, []error) {
	found, errs := make([]Queue, len(pairs)), make([]error, len(pairs))
	places := make(chan struct{}, countsAbreast)
	var work sync.WaitGroup
	for i, p := range pairs {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			errs[i] = fromStore(ctx.Err())
			continue
		}
		work.Go(func() {
			leave := sync.OnceFunc(func() { <-places })
			defer leave()
			defer time.AfterFunc(countPatience, leave).Stop()
			ctx, cancel := context.WithTimeout(ctx, countTime)
			defer cancel()
			found[i], errs[i] = e.showListed(ctx, p)
		})
	}
	work.Wait()
	return found, errs
}
