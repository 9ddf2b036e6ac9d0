package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// add asks for a visit to t.
func (t *topics) add(found *topic) {
	t.mu.Lock()
	if !found.listed {
		found.listed = true
		t.todo = append(t.todo, found)
	}
	t.mu.Unlock()
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// next is the topic to visit, nil when there is none.
func (t *topics) next() *topic {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.todo) == 0 {
		t.todo = nil
		return nil
	}
	found := t.todo[0]
	t.todo[0] = nil
	t.todo = t.todo[1:]
	found.listed = false
	return found
}

func (e *Engine) runTopics(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.topics.poke:
		}
		for t := e.topics.next(); t != nil && ctx.Err() == nil; t = e.topics.next() {
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
func (e *Engine) ringTopic(t *topic) { e.topics.add(t) }

// topicDueIn notes that retention has something to remove in d. It is done at most once in a sweepPause.
func (e *Engine) topicDueIn(t *topic, d time.Duration) {
	e.clock.soonest(t.due, max(e.clock.in(d), moment(t.swept.Load())+sweepPause))
}
