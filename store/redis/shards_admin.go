package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Configure implements [store.QueueAdmin]. A queue with other settings of Shards than it was created with is
// [store.ErrConflict].
func (s *Store) Configure(ctx context.Context, id store.QueueID, settings store.Settings) error {
	if settings.Shards > 1 {
		return s.configureShards(ctx, id, settings)
	}
	err := s.whole().configureFirst(ctx, id, settings)
	if q := s.learned(id, err); q != nil {
		return fmt.Errorf("%w: queue %d has %d shards for ever; create another one", store.ErrConflict, id, len(q.parts))
	}
	return err
}

// configureShards configures the first shard before the others: where it is not, there are none, and where it says that the
// queue was dropped the others may not come to be.
func (s *Store) configureShards(ctx context.Context, id store.QueueID, settings store.Settings) error {
	if err := shardable(settings); err != nil {
		return fmt.Errorf("configure %d: %w", id, err)
	}
	q := s.shardsOf(id, settings.Shards)
	if err := q.parts[0].configureFirst(ctx, id, settings); err != nil {
		return err
	}
	q = s.sharded(id, settings.Shards)
	_, errs := abreast(q.parts[1:], func(_ int, p part) (struct{}, error) {
		return struct{}{}, p.configure(ctx, id, settings, true)
	})
	return firstOf(errs)
}

// shardable says what of settings does not go with shards.
func shardable(s store.Settings) error {
	switch {
	case s.Shards > maxShards:
		return fmt.Errorf("%d shards are more than %d", s.Shards, maxShards)
	case s.Mode != store.Standard || s.Levels > 1:
		return errors.New("a queue with shards is a standard one with one level")
	case s.MaxMessages > 0 || s.MaxBytes > 0 || s.MaxInFlight > 0 || s.GroupInFlight > 0 || s.Interval > 0 || s.GroupInterval > 0:
		return errors.New("a queue with shards has no bounds and no rates")
	}
	return nil
}

// Drop implements [store.QueueAdmin].
func (s *Store) Drop(ctx context.Context, id store.QueueID) error {
	parts, err := s.partsOf(ctx, id)
	switch {
	case errors.Is(err, store.ErrGone):
		parts = []part{s.whole()} // so that nobody creates it who is late
	case err != nil:
		return err
	}
	// The first shard is the last to go, since it knows of the others.
	if _, errs := abreast(parts[1:], func(_ int, p part) (struct{}, error) { return struct{}{}, p.drop(ctx, id) }); firstOf(errs) != nil {
		return united(errs)
	}
	if err := parts[0].drop(ctx, id); err != nil {
		if len(parts) > 1 {
			return partly(err)
		}
		return err
	}
	s.shards.known.Delete(id)
	return s.strike(ctx, 'q', uint64(id))
}

// purging is a purge: a queue, and what of it.
type purging struct {
	queue  store.QueueID
	choice store.Selection
}

func (p *purging) all() bool { return p.choice.States == 0 && onlyStates(&p.choice) }

// Purge implements [store.QueueAdmin].
func (s *Store) Purge(ctx context.Context, id store.QueueID, sel store.Selection) (store.PurgeResult, error) {
	sel = s.ahead().Selection(sel)
	return spread(ctx, s, id, purging{id, sel}, part.purge, (*shardedQueue).purge)
}

// purge purges all shards at once, or what is selected in the first shard that has any.
func (q *shardedQueue) purge(ctx context.Context, p purging) (store.PurgeResult, error) {
	var sum store.PurgeResult
	if p.all() {
		purged, errs := abreast(q.parts, func(_ int, s part) (store.PurgeResult, error) { return s.purge(ctx, p) })
		for _, res := range purged {
			sum.Purged += res.Purged
		}
		return sum, united(errs)
	}
	var err error
	sum.Next, err = q.through(p.choice, func(s part, sel store.Selection) (bool, store.Seq, error) {
		if sel.States == 0 && onlyStates(&sel) {
			sel.From = 1 // not all at once
		}
		res, err := s.purge(ctx, purging{p.queue, sel})
		sum.Purged = res.Purged
		return res.Purged > 0, res.Next, err
	})
	return sum, err
}
