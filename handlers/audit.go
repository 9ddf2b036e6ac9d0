package handlers

import (
	"context"
	"log/slog"

	"github.com/dabba-mq/dabba/engine"
)

// Audit gives the events with those set that are for the log, a structured line each. Of redrives: who asked for one, each
// batch it moved, how it ended and who ended it; nothing else may be set for these. Of schedules: which fire times were
// missed, and why. Of work in the background: what failed. Of the wall clock: that it was set. What is set for these three is called,
// too.
func Audit(log *slog.Logger, events engine.Events) engine.Events {
	ctx := context.Background() //nolint:forbidigo // the lines are no request's: what they tell of outlives it
	events.TaskStarted = func(t engine.Task) {
		log.LogAttrs(ctx, slog.LevelInfo, "redrive started", taskAttrs(t)...)
	}
	events.TaskEnded = func(t engine.Task) {
		attrs := append(taskAttrs(t),
			slog.String("state", string(t.State)),
			slog.Int64("moved", t.Moved),
			slog.Int64("skipped", t.Skipped))
		if t.CancelledBy != "" {
			attrs = append(attrs, slog.String("cancelled_by", t.CancelledBy))
		}
		if t.Error != "" {
			attrs = append(attrs, slog.String("error", t.Error))
		}
		log.LogAttrs(ctx, slog.LevelInfo, "redrive ended", attrs...)
	}
	events.Moved = func(m engine.Move) {
		attrs := []slog.Attr{
			slog.String("task", m.Task),
			slog.String("principal", m.Principal),
			slog.String("tenant", m.From.Tenant),
			slog.String("queue", m.From.Name),
			slog.String("to", m.To.Name),
			slog.Int("messages", m.Messages),
		}
		if m.IDs != nil {
			attrs = append(attrs, slog.Any("ids", idTexts(m.IDs)))
		}
		log.LogAttrs(ctx, slog.LevelInfo, "redrive moved messages", attrs...)
	}
	events.TaskStalled = func(q engine.Ref, id string, err error) {
		log.LogAttrs(ctx, slog.LevelWarn, "redrive failed and will be tried again",
			slog.String("task", id),
			slog.String("tenant", q.Tenant),
			slog.String("queue", q.Name),
			slog.Any("error", err))
	}
	count := events.ScheduleFailed
	events.ScheduleFailed = func(q engine.Ref, name string, err error) {
		log.LogAttrs(ctx, slog.LevelWarn, "schedule failed",
			slog.String("tenant", q.Tenant),
			slog.String("queue", q.Name),
			slog.String("schedule", name),
			slog.Any("error", err))
		if count != nil {
			count(q, name, err)
		}
	}
	counted := events.JanitorFailed
	events.JanitorFailed = func(q engine.Ref, err error) {
		log.LogAttrs(ctx, slog.LevelWarn, "work in the background failed and will be tried again",
			slog.String("tenant", q.Tenant),
			slog.String("queue", q.Name),
			slog.Any("error", err))
		if counted != nil {
			counted(q, err)
		}
	}
	stepped := events.ClockStepped
	events.ClockStepped = func(s engine.ClockStep) {
		log.LogAttrs(ctx, slog.LevelWarn, "the wall clock was set: schedules, deliver_at, timed pauses and times shown follow it; "+
			"delays, leases and retention do not notice",
			slog.Duration("by", s.By),
			slog.Time("now", s.At))
		if stepped != nil {
			stepped(s)
		}
	}
	return events
}

// taskAttrs say which task it is. An empty target stands for where each message came from.
func taskAttrs(t engine.Task) []slog.Attr {
	return []slog.Attr{
		slog.String("task", t.ID),
		slog.String("principal", t.Principal),
		slog.String("tenant", t.Queue.Tenant),
		slog.String("queue", t.Queue.Name),
		slog.String("to", t.To),
		slog.Int64("total", t.Total),
	}
}

func idTexts(ids []engine.MessageID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}
