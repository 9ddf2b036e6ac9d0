package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// PutTopic creates the topic or replaces its configuration; created says which. Fewer partitions than it has are a
// conflict.
func (e *Engine) PutTopic(ctx context.Context, ref Ref, cfg TopicConfig, only Condition) (shown Topic, created bool, err error) {
	if err := validTopic(ref); err != nil {
		return Topic{}, false, err
	}
	if created, err = e.replaceTopic(ctx, ref, cfg, only); err != nil {
		return Topic{}, false, err
	}
	shown, err = e.Topic(ctx, ref)
	return shown, created, withOutcome(Applied, err)
}

func (e *Engine) replaceTopic(ctx context.Context, ref Ref, cfg TopicConfig, only Condition) (created bool, err error) {
	release, err := e.catalog.turn(ctx, ref)
	if err != nil {
		return false, err
	}
	defer release()
	for {
		was, err := e.readTopic(ctx, ref)
		if err != nil {
			return false, fromStore(err)
		}
		err = e.tryReplaceTopic(ctx, ref, was, cfg, only)
		if errors.Is(err, store.ErrConflict) {
			continue // another node changed it since
		}
		return was == nil, err
	}
}

// tryReplaceTopic writes the catalog first and the store's settings after it. When the second fails the next call on the
// topic repeats it, since the setup with the new revision is refused until then.
func (e *Engine) tryReplaceTopic(ctx context.Context, ref Ref, was *topicRecord, cfg TopicConfig, only Condition) error {
	present := store.Revision(0)
	if was != nil {
		present = was.revision
	}
	if err := only.check("topic", present); err != nil {
		return err
	}
	r, err := e.nextTopic(ref, was, cfg)
	if err != nil {
		return err
	}
	if was == nil || was.config != r.config {
		if r.revision, err = e.putTopic(ctx, ref, &r); err != nil {
			return err
		}
	}
	t := e.installTopic(ref, r)
	err = e.applyTopic(ctx, t)
	if errors.Is(err, store.ErrGone) { // see arrangeTopic
		if err := e.strike(ctx, topicKey(ref), r.revision); err != nil {
			return withOutcome(Unknown, fmt.Errorf("strike topic %s, which was dropped, off the catalog: %w", ref, err))
		}
		e.uninstallTopic(t)
		return fmt.Errorf("topic %s was dropped: %w", ref, store.ErrConflict)
	}
	return withOutcome(Unknown, err)
}

// putTopic writes r if the entry still has r's revision, and gives the new one. A conflict is returned as such.
func (e *Engine) putTopic(ctx context.Context, ref Ref, r *topicRecord) (store.Revision, error) {
	value, err := encodeTopic(r.id, r.config)
	if err != nil {
		return 0, fromStore(fmt.Errorf("encode the catalog entry of topic %s: %w", ref, err))
	}
	rev, err := e.store.Put(ctx, topicKey(ref), value, r.revision)
	if errors.Is(err, store.ErrConflict) {
		return 0, err
	}
	if err != nil {
		return 0, fromStore(fmt.Errorf("write the catalog entry of topic %s: %w", ref, err))
	}
	e.announce(ctx)
	return rev, nil
}

// nextTopic is the record to write; its revision is still that of the present one.
func (e *Engine) nextTopic(ref Ref, was *topicRecord, cfg TopicConfig) (topicRecord, error) {
	r := topicRecord{config: cfg}
	if was != nil {
		r.id, r.revision = was.id, was.revision
	}
	if cfg.Partitions == 0 {
		r.config.Partitions = 1
		if was != nil {
			r.config.Partitions = was.config.Partitions
		}
	}
	if r.config.Acks == acksOne {
		r.config.Acks = AcksLeader
	}
	if err := firstError(r.config.validate(), e.validCopies(r.config.MinInsyncReplicas)); err != nil {
		return topicRecord{}, err
	}
	if was != nil {
		if have := was.config.Partitions; r.config.Partitions < have {
			return topicRecord{}, conflict("partitions",
				fmt.Sprintf("The topic has %d partitions, whose records would be lost; give %d or more.", have, have))
		}
		return r, nil
	}
	id, err := e.random.secretNumber()
	if err != nil {
		return topicRecord{}, fromStore(fmt.Errorf("choose a generation for topic %s: %w", ref, err))
	}
	r.id = store.LogID(id)
	return r, nil
}
