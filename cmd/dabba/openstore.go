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
func openStore(ctx context.Context, o serveOptions, now func() time.Time, log *slog.Logger, m *metrics.Metrics, failed func(error)) (store.Store, error) {
	if o.store == "memory" {
		return memory.New(memory.Options{Now: now}), nil
	}
	if o.onRedis() {
		return openRedis(ctx, o, now, log, m)
	}
	s, err := segment.Open(ctx, segment.Options{
		Dir:        o.data,
		Now:        now,
		Sync:       syncModes[o.fsync],
		FileSize:   int64(o.journalSize),
		Quarantine: o.quarantine,
		Events: segment.Events{
			Wrote:   func(_ int, _ int64, _, sync time.Duration) { m.Fsync(sync) },
			Warning: func(s string) { log.Warn(s) }, //nolint:sloglint // a sentence for people
			Damaged: func(err error) {
				log.Error("a stored message is damaged and set aside as dead", slog.Any("error", err))
			},
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
