package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dabba-mq/dabba/store"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	plain := store.Settings{Revision: 7, Retention: 4 * 24 * time.Hour, Levels: 1, DedupWindow: 5 * time.Minute}
	with := func(change func(*store.Settings)) store.Settings {
		s := plain
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		change func(*QueueConfig)
		want   store.Settings
	}{
		"default": {func(*QueueConfig) {}, plain},
		"FIFO":    {func(c *QueueConfig) { c.FIFO = true }, with(func(s *store.Settings) { s.Mode = store.FIFO })},
		"FIFO with the tail locked": {
			func(c *QueueConfig) { c.FIFO, c.GroupLock = true, GroupLockTail },
			with(func(s *store.Settings) { s.Mode, s.Tail = store.FIFO, true }),
		},
		"shards": {func(c *QueueConfig) { c.Shards = 8 }, with(func(s *store.Settings) { s.Shards = 8 })},
		"tail":   {func(c *QueueConfig) { c.GroupLock = GroupLockTail }, plain},
		"fair":   {func(c *QueueConfig) { c.Fair = true }, with(func(s *store.Settings) { s.Mode = store.Fair })},
		"groups in flight": {
			func(c *QueueConfig) { c.Limits.PerGroupInFlight = 3 },
			with(func(s *store.Settings) { s.Mode, s.GroupInFlight = store.Fair, 3 }),
		},
		"rates": {
			func(c *QueueConfig) { c.Limits.Rate, c.Limits.PerGroupRate = 0.5, 1000 },
			with(func(s *store.Settings) {
				s.Mode, s.Interval, s.GroupInterval = store.Fair, 2*time.Second, time.Millisecond
			}),
		},
		"priorities": {
			func(c *QueueConfig) { c.Priorities = 10 },
			with(func(s *store.Settings) { s.Levels, s.Ageing = 10, time.Minute }),
		},
		"bounds": {
			func(c *QueueConfig) {
				c.Limits = Limits{MaxMessages: 1, MaxBytes: 2, MaxInFlight: 3, Overflow: OverflowDropOldest}
			},
			with(func(s *store.Settings) {
				s.MaxMessages, s.MaxBytes, s.MaxInFlight, s.Overflow = 1, 2, 3, store.DropOldest
			}),
		},
		"block":  {func(c *QueueConfig) { c.Limits.Overflow = OverflowBlock }, plain},
		"sample": {func(c *QueueConfig) { c.Limits.Overflow = OverflowSample }, with(func(s *store.Settings) { s.Overflow = store.DropNewest })},
		"others": {
			func(c *QueueConfig) {
				c.History, c.DeadLetter.Expired, c.DeadLetter.When, c.Retry.MaxReceives = true, true, Lazy, 4
			},
			with(func(s *store.Settings) {
				s.History, s.ExpiredDead, s.Lazy, s.MaxReceives = HistoryMessages, true, true, 4
			}),
		},
	} {
		config := DefaultConfig()
		c.change(&config)
		s := setup{config: config, revision: 7}
		if diff := cmp.Diff(c.want, s.settings()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
