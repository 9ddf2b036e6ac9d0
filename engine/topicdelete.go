package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// DeleteTopic removes the topic with its records and committed offsets, for ever.
func (e *Engine) DeleteTopic(ctx context.Context, ref Ref, only Condition) error {
	release, err := e.catalog.turn(ctx, ref)
	if err != nil {
		return err
	}
	defer release()
	r, err := e.readTopic(ctx, ref)
	if err != nil {
		return fromStore(err)
	}
	if r == nil {
		return unlistedTopic(ref)
	}
	if err := only.check("topic", r.revision); err != nil {
		return err
	}
	return e.removeTopic(ctx, e.installTopic(ref, *r), r.revision)
}

// removeTopic takes the topic out of the catalog first; a crash before the rest is healed at the next start.
func (e *Engine) removeTopic(ctx context.Context, t *topic, revision store.Revision) error {
	err := e.store.Delete(ctx, topicKey(t.ref), revision)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fromStore(fmt.Errorf("delete the catalog entry of topic %s: %w", t.ref, err))
	}
	e.announce(ctx)
	err = e.store.DropLog(ctx, t.id)
	e.uninstallTopic(t)
	if err == nil {
		err = e.forgetOffsets(ctx, t.id)
	}
	if err != nil {
		return withOutcome(Applied, fmt.Errorf("drop topic %s: %w", t.ref, err))
	}
	return nil
}

// unlistedTopic is noTopic for those who look after topics: see unlisted.
func unlistedTopic(ref Ref) *Error {
	return &Error{
		Code: CodeNotFound, Outcome: NotApplied,
		Detail: "There is no topic named " + ref.Name + "; the list of topics has all names.",
	}
}
