package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// refresh brings the catalog's copy in line with the store. One entry that cannot be read or applied keeps no other from it.
func (e *Engine) refresh(ctx context.Context) error {
	unseen := make(map[Ref]*queue)
	for q := range e.catalog.all() {
		unseen[q.ref] = q
	}
	var failed error
	err := e.eachPair(ctx, catalogPrefix, pageSize, func(p store.Pair) error {
		ref, err := refOfKey(p.Key)
		if err == nil {
			delete(unseen, ref)
			err = e.catchUp(ctx, ref, p.Revision)
		}
		failed = errors.Join(failed, unlessGone(err))
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	for ref, q := range unseen {
		_, _, err := e.reload(ctx, ref, q.setup.Load())
		failed = errors.Join(failed, unlessGone(err))
	}
	return failed
}

// refreshTopics is refresh for topics.
func (e *Engine) refreshTopics(ctx context.Context) error {
	unseen := make(map[Ref]*topic)
	for t := range e.topics.all() {
		unseen[t.ref] = t
	}
	var failed error
	err := e.eachPair(ctx, topicPrefix, pageSize, func(p store.Pair) error {
		ref, err := topicOfKey(p.Key)
		if err == nil {
			delete(unseen, ref)
			err = e.catchUpTopic(ctx, ref, p.Revision)
		}
		failed = errors.Join(failed, unlessGone(err))
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	for ref, t := range unseen {
		_, _, err := e.reloadTopic(ctx, ref, t.setup.Load())
		failed = errors.Join(failed, unlessGone(err))
	}
	return failed
}

// unlessGone is err, unless it says that there is no such thing.
func unlessGone(err error) error {
	if err == nil || ErrorOf(err).Code == CodeNotFound {
		return nil
	}
	return err
}

// refreshIfShared is for calls whose answer depends on other queues than the one they name.
func (e *Engine) refreshIfShared(ctx context.Context) error {
	if !e.shared() {
		return nil
	}
	if err := e.refresh(ctx); err != nil {
		return fromStore(fmt.Errorf("look for changes of other nodes: %w", err))
	}
	return nil
}

// catchUp makes sure that a queue is known as it is by a revision of its entry. It reads nothing if it is.
func (e *Engine) catchUp(ctx context.Context, ref Ref, revision store.Revision) error {
	var known *setup
	if q, ok := e.catalog.byName(ref); ok {
		if known = q.setup.Load(); known.revision == revision {
			return nil
		}
	}
	_, _, err := e.reload(ctx, ref, known)
	return err
}

// catchUpTopic is catchUp for a topic.
func (e *Engine) catchUpTopic(ctx context.Context, ref Ref, revision store.Revision) error {
	var known *topicSetup
	if t, ok := e.topics.byName(ref); ok {
		if known = t.setup.Load(); known.revision == revision {
			return nil
		}
	}
	_, _, err := e.reloadTopic(ctx, ref, known)
	return err
}

// renew makes sure that a queue is known as it is now, if there may be other nodes: for what no refusal of the store
// would correct. One that is not there is not found.
func (e *Engine) renew(ctx context.Context, ref Ref) error {
	if !e.shared() {
		return nil
	}
	p, err := e.store.Get(ctx, catalogKey(ref))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fromStore(fmt.Errorf("read the catalog entry of %s: %w", ref, err))
	}
	return e.catchUp(ctx, ref, p.Revision)
}

// current finds a queue and its setup as they are now. It is lookup for whatever is decided, confirmed or shown by the
// catalog alone, without a call on the queue's messages that would find out that the copy is out of date.
func (e *Engine) current(ctx context.Context, ref Ref) (*queue, *setup, error) {
	if err := e.renew(ctx, ref); err != nil {
		return nil, nil, err
	}
	return e.lookup(ctx, ref)
}

// currentTopic is current for a topic.
func (e *Engine) currentTopic(ctx context.Context, ref Ref) (*topic, *topicSetup, error) {
	if err := e.renewTopic(ctx, ref); err != nil {
		return nil, nil, err
	}
	return e.lookupTopic(ctx, ref)
}

// confirm says whether a queue still is as it was looked up, before it is decided by that without a call on its messages.
// It is [store.ErrStaleConfig] if not, which has a call followed once more.
func (e *Engine) confirm(ctx context.Context, q *queue, s *setup) error {
	if !e.shared() {
		return nil
	}
	now, setup, err := e.present(ctx, q, s)
	if err != nil {
		return err
	}
	if now != q || setup != s {
		return store.ErrStaleConfig
	}
	return nil
}

// confirmTopic is confirm for a topic.
func (e *Engine) confirmTopic(ctx context.Context, t *topic, s *topicSetup) error {
	if !e.shared() {
		return nil
	}
	now, setup, err := e.currentTopic(ctx, t.ref)
	if err != nil {
		return err
	}
	if now != t || setup != s {
		return store.ErrStaleConfig
	}
	return nil
}

// isRefusal says of an error that it was decided here, by what the request says and what is known of the queue or topic.
func isRefusal(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.cause == nil && refused.Outcome == NotApplied
}

// renewTopic is renew for a topic.
func (e *Engine) renewTopic(ctx context.Context, ref Ref) error {
	if !e.shared() {
		return nil
	}
	p, err := e.store.Get(ctx, topicKey(ref))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fromStore(fmt.Errorf("read the catalog entry of topic %s: %w", ref, err))
	}
	return e.catchUpTopic(ctx, ref, p.Revision)
}
