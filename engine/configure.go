package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// PutQueue creates the queue or replaces its configuration; created says which.
func (e *Engine) PutQueue(ctx context.Context, ref Ref, cfg QueueConfig, only Condition) (q Queue, created bool, err error) {
	return e.configure(ctx, ref, only, func(*QueueConfig) (QueueConfig, error) { return cfg, nil })
}

// ChangeQueue replaces the configuration by what change makes of the present one. An error of change is returned as
// it is. change may be called more than once.
func (e *Engine) ChangeQueue(ctx context.Context, ref Ref, only Condition, change func(QueueConfig) (QueueConfig, error)) (Queue, error) {
	q, _, err := e.configure(ctx, ref, only, func(was *QueueConfig) (QueueConfig, error) {
		if was == nil {
			return QueueConfig{}, unlisted(ref)
		}
		return change(*was)
	})
	return q, err
}

// configure replaces what was (nil for a new queue) by next of it.
func (e *Engine) configure(ctx context.Context, ref Ref, only Condition, next func(was *QueueConfig) (QueueConfig, error)) (Queue, bool, error) {
	if err := validRef(ref); err != nil {
		return Queue{}, false, err
	}
	created, err := e.replaceRecord(ctx, ref, only, func(was *record) (record, error) {
		return e.nextRecord(ctx, ref, was, only, next)
	})
	if err != nil {
		return Queue{}, false, err
	}
	if e.events.Configured != nil {
		e.events.Configured(ref)
	}
	q, err := e.Queue(ctx, ref)
	return q, created, withOutcome(Applied, err)
}

// replaceRecord replaces the catalog entry (nil for none) by next of it, which has the revision of the present one;
// created says that there was none.
func (e *Engine) replaceRecord(ctx context.Context, ref Ref, only Condition, next func(was *record) (record, error)) (created bool, err error) {
	release, err := e.catalog.turn(ctx, ref)
	if err != nil {
		return false, err
	}
	defer release()
	for {
		was, err := e.readRecord(ctx, ref)
		if err != nil {
			return false, fromStore(err)
		}
		err = e.tryReplace(ctx, ref, was, only, next)
		if errors.Is(err, store.ErrConflict) {
			continue // another node changed it since
		}
		return was == nil, err
	}
}

// tryReplace writes the catalog first and the store's settings after it. When the second fails the next call on the
// queue repeats it, since the setup with the new revision is refused until then.
func (e *Engine) tryReplace(ctx context.Context, ref Ref, was *record, only Condition, next func(*record) (record, error)) error {
	present := store.Revision(0)
	if was != nil {
		present = was.revision
	}
	if err := only.check("queue", present); err != nil {
		return err
	}
	r, err := next(was)
	if err != nil {
		return err
	}
	if was == nil || !reflect.DeepEqual(was.config, r.config) || !was.pause.equal(r.pause) {
		now := e.store.Clock()
		if r.changedAt, r.changed = now.Wall, now.Now; was == nil {
			r.createdAt, r.created = r.changedAt, r.changed
		}
		if r.revision, err = e.putRecord(ctx, ref, r); err != nil {
			return err
		}
	}
	q := e.install(ref, r)
	err = e.apply(ctx, q)
	if errors.Is(err, store.ErrGone) { // see arrange
		if err := e.strike(ctx, catalogKey(ref), r.revision); err != nil {
			return withOutcome(Unknown, fmt.Errorf("strike %s, which was dropped, off the catalog: %w", ref, err))
		}
		e.uninstall(q)
		return fmt.Errorf("%s was dropped: %w", ref, store.ErrConflict)
	}
	return withOutcome(Unknown, err)
}

// nextRecord is the record to write; its revision is still that of the present one.
func (e *Engine) nextRecord(
	ctx context.Context, ref Ref, was *record, only Condition, next func(*QueueConfig) (QueueConfig, error),
) (record, error) {
	var present *QueueConfig
	r := record{}
	if was != nil {
		c := was.config.clone()
		present = &c
		r = *was
	}
	cfg, err := next(present)
	if err != nil {
		return record{}, err
	}
	if present != nil && cfg.FIFO != present.FIFO {
		return record{}, conflict("fifo", fmt.Sprintf("A queue cannot become FIFO or cease to be; this one has fifo: %t. "+
			"Create another queue and move the messages.", present.FIFO))
	}
	if present != nil {
		if err := cfg.sameShards(present); err != nil {
			return record{}, err
		}
	}
	if err := firstError(cfg.validate(ref), e.validCopies(cfg.MinInsyncReplicas), e.validSpread(cfg.Shards)); err != nil {
		return record{}, err
	}
	if present == nil || cfg.DeadLetter.Queue != present.DeadLetter.Queue {
		if err := only.mayTarget(cfg.DeadLetter.Queue); err != nil {
			return record{}, err
		}
		if err := e.mayFeed(ctx, ref, &cfg.DeadLetter); err != nil {
			return record{}, err
		}
	}
	if cfg.Notes == nil && present != nil {
		cfg.Notes = present.Notes
	}
	r.config = cfg.clone()
	if was == nil {
		id, err := e.random.secretNumber()
		if err != nil {
			return record{}, fromStore(fmt.Errorf("choose a generation for %s: %w", ref, err))
		}
		r.id = store.QueueID(id)
	}
	return r, nil
}

// mayFeed says whether the dead-letter queue, as far as it is known, takes messages of the queue named ref. Should it
// come to refuse them later, they are parked.
func (e *Engine) mayFeed(ctx context.Context, ref Ref, d *DeadLetter) error {
	if d.Queue == "" {
		return nil
	}
	allows, err := e.allowsFrom(ctx, Ref{ref.Tenant, d.Queue}, ref.Name)
	if err != nil {
		return err
	}
	if allows {
		return nil
	}
	return conflict("dead_letter.queue", "Queue "+d.Queue+" takes no dead letters of this one; add "+ref.Name+
		" to its dead_letter.allow_from first, or name another.")
}

// allowsFrom says whether a queue, if it is there, takes the dead messages of another one. The caller may have a turn, so
// that another node's change is looked at without a reload.
func (e *Engine) allowsFrom(ctx context.Context, target Ref, source string) (bool, error) {
	if e.shared() {
		r, err := e.readRecord(ctx, target)
		if err != nil {
			return false, fromStore(err)
		}
		return r == nil || r.config.DeadLetter.allows(source), nil
	}
	to, ok := e.catalog.byName(target)
	return !ok || to.setup.Load().config.DeadLetter.allows(source), nil
}

// putRecord writes r if the entry still has r's revision, and gives the new one. A conflict is returned as such.
func (e *Engine) putRecord(ctx context.Context, ref Ref, r record) (store.Revision, error) {
	value, err := encodeRecord(r)
	if err != nil {
		return 0, fromStore(fmt.Errorf("encode the catalog entry of %s: %w", ref, err))
	}
	rev, err := e.store.Put(ctx, catalogKey(ref), value, r.revision)
	if errors.Is(err, store.ErrConflict) {
		return 0, err
	}
	if err != nil {
		return 0, fromStore(fmt.Errorf("write the catalog entry of %s: %w", ref, err))
	}
	e.announce(ctx)
	return rev, nil
}

// clone shares no memory with c. No tags and no notes are nil, so that equal configurations compare equal.
func (c *QueueConfig) clone() QueueConfig {
	n := *c
	n.Tags = nil
	if len(c.Tags) > 0 {
		n.Tags = maps.Clone(c.Tags)
	}
	n.Notes = nil
	if len(c.Notes) > 0 {
		n.Notes = maps.Clone(c.Notes)
	}
	n.DeadLetter.AllowFrom = slices.Clone(c.DeadLetter.AllowFrom)
	return n
}
