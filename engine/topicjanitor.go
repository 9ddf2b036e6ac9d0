package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// runTopics sweeps the topics that need it until ctx ends.
func (e *Engine) runTopics(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.topics.due.poke:
		}
		for t := e.topics.due.next(); t != nil && ctx.Err() == nil; t = e.topics.due.next() {
			e.sweepTopic(ctx, t)
		}
	}
}

// sweepTopic removes what is past retention.
func (e *Engine) sweepTopic(ctx context.Context, t *topic) {
	t.swept.Store(int64(e.clock.moment()))
	res, err := e.store.SweepLog(ctx, t.id)
	switch {
	case err == nil:
		tell(e.events.Trimmed, t.ref, int(res.Trimmed))
		e.topicDueIn(t, res.NextDue)
	case errors.Is(err, store.ErrGone), ctx.Err() != nil: // it was deleted, or the next call on it will find out
	default:
		if e.events.TopicFailed != nil {
			e.events.TopicFailed(t.ref, fmt.Errorf("sweep topic %s: %w", t.ref, err))
		}
		e.clock.soonest(t.due, e.clock.in(janitorRetry))
	}
}

// ringTopic is called by the clock when t is due.
func (e *Engine) ringTopic(t *topic) { e.topics.due.add(t) }

// topicDueIn notes that retention has something to remove in d. It is done at most once in a sweepPause.
func (e *Engine) topicDueIn(t *topic, d time.Duration) {
	e.clock.soonest(t.due, max(e.clock.in(d), moment(t.swept.Load())+sweepPause))
}
