package redis

import (
	"context"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var queueStats = newLook("queue_stats")

// stats counts a part.
func (s part) stats(ctx context.Context, id store.QueueID) (store.Stats, error) {
	r, now, err := s.queue(ctx, queueStats, queueCall{id: id})
	if err != nil {
		return store.Stats{}, err
	}
	st := store.Stats{Ready: r.int(), Leased: r.int(), Delayed: r.int(), Dead: r.int(), Bytes: r.int(), OldestAge: -1}
	if oldest := r.int(); oldest >= 0 {
		st.OldestAge = ageOf(now, oldest)
	}
	st.Revision, st.NextDue, st.Moving = r.uint(), until(now, r.int()), r.int()
	return st, r.done()
}

// ageOf is how old what became available in a tick is.
func ageOf(now, tick int64) time.Duration { return until(tick*tickMillis, now) }
