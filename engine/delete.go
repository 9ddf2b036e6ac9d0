package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// DeleteQueue removes the queue for ever. Unless forced it is a conflict while messages remain in it or another
// queue names it as dead-letter queue. No message that was accepted is lost without force, also not one that is sent
// at the same moment.
func (e *Engine) DeleteQueue(ctx context.Context, ref Ref, only Condition, force bool) error {
	if !force {
		if err := e.refreshIfShared(ctx); err != nil { // another queue may name this one by now
			return err
		}
	}
	release, err := e.catalog.turn(ctx, ref)
	if err != nil {
		return err
	}
	defer release()
	r, err := e.readRecord(ctx, ref)
	if err != nil {
		return fromStore(err)
	}
	if r == nil {
		return unlisted(ref)
	}
	if err := only.check("queue", r.revision); err != nil {
		return err
	}
	q := e.install(ref, *r)
	if !force {
		if err := e.mayDelete(ctx, q, r, only.MayRead); err != nil {
			return err
		}
	}
	return e.remove(ctx, q, r)
}

// fenceKey is written for its revision only.
const fenceKey = "fence"

// byForce completes the advice of a refused deletion.
const byForce = "delete it with all that is in it (force=true, on the command line --force)"

// mayDelete says why the queue must stay. If it looks empty, it is fenced and looked at again.
func (e *Engine) mayDelete(ctx context.Context, q *queue, r *record, mayRead func(string) bool) error {
	sources := slices.DeleteFunc(e.catalog.feedersOf(q.ref), func(s *queue) bool { return s == q }) // it may be its own
	if len(sources) > 0 {
		name := "Another queue"
		for _, s := range sources {
			if mayRead == nil || mayRead(s.ref.Name) {
				name = "Queue " + s.ref.Name
				break
			}
		}
		return conflict("", name+" names it as its dead-letter queue; change that one first, or "+byForce+".")
	}
	if err := e.mustBeEmpty(ctx, q); err != nil {
		return err
	}
	if err := e.fence(ctx, q, r); err != nil {
		return err
	}
	if err := e.mustBeEmpty(ctx, q); err != nil {
		if open := e.unfence(context.WithoutCancel(ctx), q, r); open != nil {
			return open
		}
		return err
	}
	return nil
}

// fence gives the queue a revision that the catalog's copy does not have. So the store refuses all calls, also those
// under way, and they wait for this name's turn to reload. Other nodes have turns of their own: for them the store's
// revision is above that of the catalog as well, so that they find no setup that it accepts.
func (e *Engine) fence(ctx context.Context, q *queue, r *record) error {
	rev, err := e.putRecord(ctx, q.ref, *r)
	if err != nil {
		return fromStore(err)
	}
	r.revision = rev
	settings := r.setup().settings()
	if e.shared() {
		above, err := e.store.Put(ctx, fenceKey, nil, store.AnyRevision)
		if err != nil {
			return fromStore(fmt.Errorf("fence %s: %w", q.ref, err))
		}
		settings.Revision = uint64(above)
	}
	if err := e.store.Configure(ctx, q.id, settings); err != nil && !errors.Is(err, store.ErrGone) { // it was dropped already
		return fromStore(fmt.Errorf("fence %s: %w", q.ref, err))
	}
	return nil
}

// unfence opens a queue again that was fenced and is to stay. Its record gets a revision above that of the fence.
func (e *Engine) unfence(ctx context.Context, q *queue, r *record) error {
	if e.shared() {
		rev, err := e.putRecord(ctx, q.ref, *r)
		if errors.Is(err, store.ErrConflict) {
			return nil // another node has done so
		}
		if err != nil {
			return fromStore(err)
		}
		r.revision = rev
	}
	if err := e.apply(ctx, e.install(q.ref, *r)); err != nil {
		return fromStore(err)
	}
	return nil
}

func (e *Engine) mustBeEmpty(ctx context.Context, q *queue) error {
	stats, err := e.store.Stats(ctx, q.id)
	if errors.Is(err, store.ErrGone) {
		return nil // it never reached the store
	}
	if err != nil {
		return fromStore(fmt.Errorf("count %s: %w", q.ref, err))
	}
	switch alive := stats.Ready + stats.Leased + stats.Delayed; {
	case stats.Moving > 0:
		return conflict("", fmt.Sprintf("Messages (%d) are under way from it to another queue; repeat this in half a minute, or %s.", stats.Moving, byForce))
	case alive > 0:
		return conflict("", fmt.Sprintf("The queue still has messages (%d); consume them first, or %s.", alive+stats.Dead, byForce))
	case stats.Dead > 0:
		return conflict("", fmt.Sprintf("The queue still has dead messages (%d), which nobody can receive; "+
			"name an existing dead-letter queue for them to move to, or %s.", stats.Dead, byForce))
	}
	return nil
}

// remove takes the queue out of the catalog first; a crash before the drop is healed at the next start.
func (e *Engine) remove(ctx context.Context, q *queue, r *record) error {
	err := e.store.Delete(ctx, catalogKey(q.ref), r.revision)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fromStore(fmt.Errorf("delete the catalog entry of %s: %w", q.ref, err))
	}
	e.announce(ctx)
	err = e.store.Drop(ctx, q.id)
	e.uninstall(q)
	if err == nil {
		err = e.removeSchedules(ctx, q)
	}
	if err != nil {
		return withOutcome(Applied, fmt.Errorf("drop %s: %w", q.ref, err))
	}
	return nil
}
