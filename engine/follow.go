package engine

import "context"

// follow calls do with a queue and its setup, and again with the present ones when the store finds them out of date.
// do must have changed nothing when it fails so. A refusal of do is looked into once, since another node may have changed
// what it was decided by. Errors that are not the engine's become so.
func (e *Engine) follow(ctx context.Context, ref Ref, do func(*queue, *setup) error) error {
	q, s, err := e.lookup(ctx, ref)
	if err != nil {
		return err
	}
	looked := !e.shared()
	for reloads := 0; ; reloads++ {
		err := do(q, s)
		if err == nil {
			return nil
		}
		if !looked && isRefusal(err) {
			looked = true
			if now := e.confirm(ctx, q, s); now != nil {
				err = now
			}
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
	looked := !e.shared()
	for reloads := 0; ; reloads++ {
		err := do(t, s)
		if err == nil {
			return nil
		}
		if !looked && isRefusal(err) {
			looked = true
			if now := e.confirmTopic(ctx, t, s); now != nil {
				err = now
			}
		}
		if !isStale(err) || reloads == maxReloads {
			return fromTopics(err)
		}
		if t, s, err = e.reopenTopic(ctx, ref, s); err != nil {
			return err
		}
	}
}
