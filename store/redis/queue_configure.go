package redis

import (
	"context"
	"errors"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var queueConfigure = newRepeatable("queue_configure")

// configureFirst configures a queue without shards, or the first shard. It enrolls what it creates.
func (s part) configureFirst(ctx context.Context, id store.QueueID, settings store.Settings) error {
	err := s.configure(ctx, id, settings, false)
	if !errors.Is(err, store.ErrGone) {
		return err
	}
	if err := s.enroll(ctx, 'q', uint64(id)); err != nil {
		return err
	}
	return s.unlessDropped(ctx, 'q', uint64(id), s.configure(ctx, id, settings, true))
}

func (s part) configure(ctx context.Context, id store.QueueID, settings store.Settings, create bool) error {
	args := append([]any{decimal(settings.Revision), flag(create)}, settingArgs(settings)...)
	r, now, err := s.queue(ctx, queueConfigure, queueCall{id: id, record: true}, args...)
	if err == nil {
		s.told(id, r, now, nothingMuch, 0)
	}
	return err
}

// settingArgs are the names and values of the settings that are not 0, as the scripts know them.
func settingArgs(s store.Settings) []any {
	var args []any
	set := func(name string, v int64) {
		if v > 0 {
			args = append(args, name, v)
		}
	}
	span := func(name string, d time.Duration) {
		set(name, int64(d/time.Millisecond))
		set(name+"_ns", int64(d%time.Millisecond))
	}
	set("max_receives", int64(s.MaxReceives))
	set("lazy", int64(flag(s.Lazy)))
	set("retains", int64(flag(s.Retention > 0)))
	set("retention", int64(s.Retention/time.Millisecond))
	set("mode", int64(s.Mode))
	set("tail", int64(flag(s.Tail)))
	set("levels", int64(s.Levels))
	set("ages", int64(flag(s.Ageing > 0)))
	span("ageing", max(s.Ageing, time.Millisecond))
	set("dedup_window", millis(s.DedupWindow))
	set("max_messages", s.MaxMessages)
	set("max_bytes", s.MaxBytes)
	set("overflow", int64(s.Overflow))
	set("max_in_flight", int64(s.MaxInFlight))
	set("group_in_flight", int64(s.GroupInFlight))
	set("limited", int64(flag(s.Interval > 0)))
	span("interval", s.Interval)
	set("group_limited", int64(flag(s.GroupInterval > 0)))
	span("group_interval", s.GroupInterval)
	set("expired_dead", int64(flag(s.ExpiredDead)))
	set("history", int64(s.History))
	if s.Shards > 1 {
		set("shards", int64(s.Shards))
	}
	return args
}
