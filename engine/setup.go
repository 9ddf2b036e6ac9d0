package engine

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// setup is a configuration, and whether the queue is paused, with the revision they belong to. It is never changed, only
// replaced.
type setup struct {
	config               QueueConfig
	pause                Pause
	createdAt, changedAt time.Time
	created, changed     store.Instant
	revision             store.Revision
}

// setup of what the record says.
func (r *record) setup() *setup {
	return &setup{config: r.config, pause: r.pause, createdAt: r.createdAt, changedAt: r.changedAt, created: r.created, changed: r.changed, revision: r.revision}
}

// settings are the resolved numbers that the store needs of it.
func (s *setup) settings() store.Settings {
	c, l := &s.config, &s.config.Limits
	out := store.Settings{
		Revision:      uint64(s.revision),
		MaxReceives:   c.Retry.MaxReceives,
		Lazy:          c.DeadLetter.When == Lazy,
		Retention:     c.Retention,
		Mode:          c.mode(),
		Tail:          c.FIFO && c.GroupLock == GroupLockTail,
		Levels:        uint8(c.Priorities),
		DedupWindow:   c.Dedup.Window,
		MaxMessages:   l.MaxMessages,
		MaxBytes:      l.MaxBytes,
		Overflow:      l.Overflow.rule(),
		MaxInFlight:   l.MaxInFlight,
		GroupInFlight: l.PerGroupInFlight,
		Interval:      interval(l.Rate),
		GroupInterval: interval(l.PerGroupRate),
		ExpiredDead:   c.DeadLetter.Expired,
	}
	if c.Priorities > 1 {
		out.Ageing = c.Ageing
	}
	if c.Shards > 1 {
		out.Shards = c.Shards
	}
	if c.History {
		out.History = HistoryMessages
	}
	return out
}

// mode is how the next messages are chosen. Bounds for each group need groups that take turns.
func (c *QueueConfig) mode() store.Mode {
	switch {
	case c.FIFO:
		return store.FIFO
	case c.Fair, c.Limits.PerGroupInFlight > 0, c.Limits.PerGroupRate > 0:
		return store.Fair
	default:
		return store.Standard
	}
}

// rule is what the store does when the queue is full. Waiting for room is the engine's, and so is the choice of the
// messages that are kept of a sample.
func (o Overflow) rule() store.Overflow {
	switch o {
	case OverflowDropOldest:
		return store.DropOldest
	case OverflowDropNewest, OverflowSample:
		return store.DropNewest
	case OverflowReject, OverflowBlock:
	}
	return store.Reject
}

// interval is the mean distance of so many deliveries a second; 0 for no bound.
func interval(rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / rate)
}
