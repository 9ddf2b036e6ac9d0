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

// openStore opens the store that the options name. When it can write no more it calls failed, once.
func openStore(ctx context.Context, o serveOptions, log *slog.Logger, m *metrics.Metrics, failed func(error)) (store.Store, error) {
	if o.store == "memory" {
		return memory.New(memory.Options{Now: time.Now}), nil
	}
	s, err := segment.Open(ctx, segment.Options{
		Dir:        o.data,
		Now:        time.Now,
		Sync:       syncModes[o.fsync],
		Quarantine: o.quarantine,
		Events: segment.Events{
			Wrote:   func(_ int, _ int64, _, sync time.Duration) { m.Fsync(sync) },
			Warning: func(s string) { log.Warn(s) },
			Damaged: func(err error) {
				log.Error("a stored message is damaged and set aside as dead", slog.Any("error", err))
			},
			Failed: failed,
		},
	})
	if err != nil {
		return nil, adviseOnData(o.data, err)
	}
	return s, nil
}

// adviseOnData adds to an error of the data folder what to do about it.
func adviseOnData(dir string, err error) error {
	advice := ""
	switch {
	case errors.Is(err, store.ErrLocked):
		advice = ": stop the other server, or give this one its own --data"
	case errors.Is(err, store.ErrVersion):
		advice = ": start the version of dabba that wrote it, or give another --data"
	case errors.Is(err, store.ErrCorrupt):
		advice = ": restore the folder from a copy, or start with --quarantine to set the damaged part aside"
	}
	return fmt.Errorf("open the data folder %s: %w%s", dir, err, advice)
}
