package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// Topic shows one topic.
func (e *Engine) Topic(ctx context.Context, ref Ref) (Topic, error) {
	t, _, err := e.lookupTopic(ctx, ref)
	if err != nil {
		return Topic{}, err
	}
	return e.showTopic(ctx, t)
}

func (e *Engine) showTopic(ctx context.Context, t *topic) (Topic, error) {
	s := t.setup.Load()
	for reloads := 0; ; reloads++ {
		bounds, err := e.store.Bounds(ctx, t.id)
		if err == nil {
			return shownTopic(t.ref, s, bounds), nil
		}
		if !errors.Is(err, store.ErrGone) || reloads == maxReloads {
			return Topic{}, fromTopics(fmt.Errorf("describe topic %s: %w", t.ref, err))
		}
		if t, s, err = e.reloadTopic(ctx, t.ref, s); err != nil {
			return Topic{}, err
		}
	}
}

func shownTopic(ref Ref, s *topicSetup, bounds []store.Bounds) Topic {
	shown := Topic{Ref: ref, Config: s.config, ETag: etag(s.revision), Partitions: make([]PartitionState, len(bounds))}
	for i, b := range bounds {
		shown.Partitions[i] = PartitionState{Partition: uint32(i), PartitionBounds: boundsOf(b), Bytes: b.Bytes}
	}
	return shown
}

func boundsOf(b store.Bounds) PartitionBounds {
	return PartitionBounds{FirstOffset: uint64(b.First), HighWatermark: uint64(b.Next)}
}

// Topics lists the tenant's topics whose name has the prefix and comes after the given one, by name, at most limit
// (from 1 to 1,000; anything else means 1,000). Fewer than limit means that there are no more.
func (e *Engine) Topics(ctx context.Context, tenant, prefix, after string, limit int) ([]Topic, error) {
	if limit < 1 || limit > pageSize {
		limit = pageSize
	}
	start := ""
	if after != "" {
		start = topicsPrefix(tenant) + after
	}
	found := make([]Topic, 0, min(limit, 64))
	for len(found) < limit {
		want := limit - len(found)
		pairs, err := e.store.List(ctx, topicsPrefix(tenant)+prefix, start, want)
		if err != nil {
			return nil, fromStore(fmt.Errorf("list the topics of %s: %w", tenant, err))
		}
		if found, err = e.showTopics(ctx, found, pairs); err != nil {
			return nil, err
		}
		if len(pairs) < want {
			break
		}
		start = pairs[len(pairs)-1].Key
	}
	return found, nil
}

// showTopics appends the topics of the catalog entries, but for those deleted meanwhile.
func (e *Engine) showTopics(ctx context.Context, found []Topic, pairs []store.Pair) ([]Topic, error) {
	for _, p := range pairs {
		ref, err := topicOfKey(p.Key)
		if err != nil {
			return nil, fromStore(err)
		}
		t, err := e.Topic(ctx, ref)
		switch {
		case err == nil:
			found = append(found, t)
		case ErrorOf(err).Code == CodeNotFound:
		default:
			return nil, err
		}
	}
	return found, nil
}
