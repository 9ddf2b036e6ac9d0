package engine

import "context"

// Config is the present configuration of a queue as this engine knows it, without a look at its messages. It is shared:
// it must not be changed, and it does not follow later changes.
func (e *Engine) Config(ctx context.Context, ref Ref) (*QueueConfig, error) {
	_, s, err := e.lookup(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &s.config, nil
}
