package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dabba-mq/dabba/handlers/metrics"
	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/memory"
	"github.com/dabba-mq/dabba/store/segment"
)

// syncModes are the values of --fsync.
var syncModes = map[string]segment.SyncMode{
	"always":   segment.SyncAlways,
	"interval": segment.SyncInterval,
	"none":     segment.SyncNone,
}

// openStore is the [storeOpener] of the program.
func openStore(ctx context.Context, o serveOptions, c *clock, log *slog.Logger, m *metrics.Metrics, failed func(error)) (store.Store, error) {
	if o.store == "memory" {
		return memory.New(memory.Options{Now: c.now, Wall: c.wall}), nil
	}
	if o.onRedis() {
		return openRedis(ctx, o, c, log, m)
	}
	s, err := segment.Open(ctx, segment.Options{
		Dir:        o.data,
		Now:        c.now,
		Wall:       c.wall,
		Boot:       c.machine,
		Sync:       syncModes[o.fsync],
		FileSize:   int64(o.journalSize),
		Quarantine: o.quarantine,
		Events: segment.Events{
			Wrote:   func(_ int, _ int64, _, sync time.Duration) { m.Fsync(sync) },
			Warning: func(s string) { log.Warn(s) }, //nolint:sloglint // a sentence for people
			Damaged: func(err error) {
				log.Error("a stored message is damaged and set aside as dead", slog.Any("error", err))
			},
			Gap:    func(g store.Gap) { noteGap(log, m, c.wall(), g) },
			Failed: failed,
		},
	})
	if errors.Is(err, store.ErrCorrupt) {
		return nil, fmt.Errorf("%w (restore the folder from a copy, or start with --quarantine to set damaged parts aside)", err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// noteGap warns of a wall clock that was set while the store was closed, and of a guess that may be wrong, and counts both.
func noteGap(log *slog.Logger, m *metrics.Metrics, now time.Time, g store.Gap) {
	m.ClockGap(metrics.Gap{Counted: g.Counted, Wall: g.Wall, Measured: g.Measured})
	if g.Stepped() {
		m.ClockStepped(now.UTC(), g.Step())
	}
	figures := []any{
		slog.Duration("counted", g.Counted), slog.Duration("by_wall_clock", g.Wall), slog.Duration("protected_for", g.Protected),
	}
	switch {
	case g.Measured:
		log.Warn("the wall clock was set while the server was stopped: delays, leases and retention count what really went by, "+
			"and times are shown by the clock as it is now", figures...)
	case g.Wall < 0:
		log.Warn("the wall clock was put back while the server was stopped, and how long that was is not known: it counts as no "+
			"time. Check the clock; for a while retention and times to live remove nothing", figures...)
	default:
		log.Warn("the server was stopped for long, or the wall clock was put forward meanwhile. Check the clock; for a while "+
			"retention and times to live remove nothing, then they go by it", figures...)
	}
}
