package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dabba-mq/dabba/store"
)

var (
	logSeek   = newScript("log_seek")
	logBounds = newScript("log_bounds")
)

// logKeys are the keys of a log and of some of its partitions.
func (s *Store) logKeys(id store.LogID, names []string, partitions ...uint32) []string {
	names = slices.Clone(names)
	for _, p := range partitions {
		n := strconv.FormatUint(uint64(p), 10)
		names = append(names, n+"s", n+"f")
	}
	return s.keys('l', uint64(id), names...)
}

// Seek implements [store.Log].
func (s *Store) Seek(ctx context.Context, id store.LogID, partition uint32, at time.Time) (store.Offset, error) {
	n := strconv.FormatUint(uint64(partition), 10)
	r, err := s.call(ctx, logSeek, s.keys('l', uint64(id), "c", n+"f"), partition, at.UnixMilli(), int64(s.ahead()))
	if err != nil {
		return 0, fmt.Errorf("seek in log %d: %w", id, err)
	}
	return store.Offset(r.int()), r.done()
}

// Bounds implements [store.Log].
func (s *Store) Bounds(ctx context.Context, id store.LogID) ([]store.Bounds, error) {
	r, err := s.call(ctx, logBounds, s.logKeys(id, []string{"c"}))
	if err != nil {
		return nil, fmt.Errorf("bounds of log %d: %w", id, err)
	}
	var list []store.Bounds
	for r.more() {
		list = append(list, r.bounds())
	}
	return list, r.done()
}

// bounds reads those of one partition.
func (r *reply) bounds() store.Bounds {
	return store.Bounds{First: store.Offset(r.int()), Next: store.Offset(r.int()), Bytes: r.int(), Missing: uint64(r.int())}
}
