package engine

import "context"

// follow calls do with a queue and its setup, and again with the present ones when the store finds them out of date.
// do must have changed nothing when it fails so. Errors that are not the engine's become so.
func (e *Engine) follow(ctx context.Context, ref Ref, do func(*queue, *setup) error) error {
	q, s, err := e.lookup(ctx, ref)
	if err != nil {
		return err
	}
	for reloads := 0; ; reloads++ {
		err := do(q, s)
		if err == nil {
			return nil
		}
		if !isStale(err) || reloads == maxReloads {
			return fromStore(err)
		}
		if q, s, err = e.reload(ctx, ref, s); err != nil {
			return err
		}
	}
}

// followTopic is follow for a topic.
func (e *Engine) followTopic(ctx context.Context, ref Ref, do func(*topic, *topicSetup) error) error {
	t, s, err := e.lookupTopic(ctx, ref)
	if err != nil {
		return err
	}
	for reloads := 0; ; reloads++ {
		err := do(t, s)
		if err == nil {
			return nil
		}
		if !isStale(err) || reloads == maxReloads {
			return fromTopics(err)
		}
		if t, s, err = e.reopenTopic(ctx, ref, s); err != nil {
			return err
		}
	}
}
