package engine

import "context"

// Config is the configuration that a queue has now, without a look at its messages. What is decided or shown by it alone is
// right, whatever node changed the queue last: on a shared store its catalog entry is read. The result is shared: it must
// not be changed, and it does not follow later changes.
func (e *Engine) Config(ctx context.Context, ref Ref) (*QueueConfig, error) {
	return configOf(e.current(ctx, ref))
}

// KnownConfig is the configuration of a queue as this node knows it, which may be a second old, or that of a queue which
// another node has deleted since. It asks the store only about queues that it does not know. It is for requests that end in
// a call on the messages of the queue, such as a send: that finds out.
func (e *Engine) KnownConfig(ctx context.Context, ref Ref) (*QueueConfig, error) {
	return configOf(e.lookup(ctx, ref))
}

func configOf(_ *queue, s *setup, err error) (*QueueConfig, error) {
	if err != nil {
		return nil, err
	}
	return &s.config, nil
}
