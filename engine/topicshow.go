package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Topic shows one topic.
func (e *Engine) Topic(ctx context.Context, ref Ref) (Topic, error) {
	if err := e.renewTopic(ctx, ref); err != nil {
		return Topic{}, err
	}
	return e.showTopic(ctx, ref)
}

func (e *Engine) showTopic(ctx context.Context, ref Ref) (Topic, error) {
	var found Topic
	err := e.followTopic(ctx, ref, func(t *topic, s *topicSetup) error {
		bounds, err := e.store.Bounds(ctx, t.id)
		if err != nil {
			return fmt.Errorf("describe topic %s: %w", ref, err)
		}
		found = shownTopic(ref, s, bounds)
		return nil
	})
	return found, err
}

func shownTopic(ref Ref, s *topicSetup, bounds []store.Bounds) Topic {
	shown := Topic{Ref: ref, Config: s.config, ETag: etag(s.revision), Partitions: make([]PartitionState, len(bounds))}
	for i, b := range bounds {
		shown.Partitions[i] = PartitionState{Partition: uint32(i), PartitionBounds: boundsOf(b), Bytes: b.Bytes, Missing: b.Missing}
	}
	return shown
}

func boundsOf(b store.Bounds) PartitionBounds {
	return PartitionBounds{FirstOffset: uint64(b.First), HighWatermark: uint64(b.Next)}
}

// Topics lists the tenant's topics whose name has the prefix and comes after the given one, by name, at most limit
// (from 1 to 1,001, which is a page and one more; anything else means 1,000), and only those that visible says, nil for all.
// Fewer than limit means that there are no more. One that cannot be looked at is listed without its partitions.
func (e *Engine) Topics(ctx context.Context, tenant, prefix, after string, limit int, visible func(name string) bool) ([]Topic, error) {
	start := ""
	if after != "" {
		start = topicsPrefix(tenant) + after
	}
	patience := listTime
	found, err := listed(ctx, e, topicsPrefix(tenant)+prefix, start, limit, func(p store.Pair) (Topic, error) {
		ref, err := topicOfKey(p.Key)
		if err != nil {
			return Topic{}, fromStore(err)
		}
		if visible != nil && !visible(ref.Name) {
			return Topic{}, errHidden
		}
		began := e.clock.moment()
		var t Topic
		if err = e.catchUpTopic(ctx, ref, p.Revision); err == nil {
			t, err = e.showTopic(ctx, ref)
		}
		if err == nil || ErrorOf(err).Code == CodeNotFound || ctx.Err() != nil {
			return t, err
		}
		if patience -= time.Duration(e.clock.moment() - began); patience <= 0 {
			return t, err // the store does not answer
		}
		r, unread := decodeTopic(p)
		if unread != nil {
			return t, err
		}
		return shownTopic(ref, &topicSetup{config: r.config, revision: r.revision}, nil), nil // it does not hide the others
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("list the topics of %s: %w", tenant, err))
	}
	return found, nil
}
