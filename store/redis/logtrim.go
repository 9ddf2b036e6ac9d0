package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dabba-mq/dabba/store"
)

var (
	logTrim    = newRepeatable("log_trim")
	logSweep   = newScript("log_sweep")
	logReclaim = newRepeatable("log_reclaim")
)

// sweepPartitions bounds how many partitions one script sweeps.
const sweepPartitions = 32

// Trim implements [store.LogAdmin].
func (s *Store) Trim(ctx context.Context, id store.LogID, partition uint32, before store.Offset) (store.Bounds, error) {
	b, left, err := s.trim(ctx, id, partition, before)
	if err == nil && before > b.Next {
		err = &store.OffsetError{Partition: partition, Offset: before, Bounds: b, Err: store.ErrOutOfRange}
	}
	if err != nil {
		return store.Bounds{}, fmt.Errorf("trim log %d: %w", id, err)
	}
	if left {
		s.reclaim(ctx, id, partition)
	}
	return b, nil
}

func (s *Store) trim(ctx context.Context, id store.LogID, partition uint32, before store.Offset) (store.Bounds, bool, error) {
	r, err := s.call(ctx, logTrim, s.logKeys(id, []string{"c"}, partition), partition, decimal(uint64(before)))
	if err != nil {
		return store.Bounds{}, false, err
	}
	b := r.bounds()
	return b, r.int() == 1, r.done()
}

// reclaim frees the memory of removed records, a bounded part with each call. Where it stops, later appends go on.
func (s *Store) reclaim(ctx context.Context, id store.LogID, partition uint32) {
	for {
		r, err := s.call(ctx, logReclaim, s.logKeys(id, []string{"c"}, partition), partition)
		if err != nil || r.int() == 0 {
			return
		}
	}
}

// SweepLog implements [store.LogAdmin].
func (s *Store) SweepLog(ctx context.Context, id store.LogID) (store.LogSweepResult, error) {
	n, err := s.partitions(ctx, id)
	if err == nil && n == 0 {
		err = store.ErrGone
	}
	res := store.LogSweepResult{NextDue: store.NoDue}
	for first := uint32(0); err == nil && first < n; first += sweepPartitions {
		var part store.LogSweepResult
		part, err = s.sweepLog(ctx, id, first, min(n-first, sweepPartitions))
		res.Trimmed += part.Trimmed
		res.NextDue = min(res.NextDue, part.NextDue)
	}
	if err != nil {
		return store.LogSweepResult{}, fmt.Errorf("sweep log %d: %w", id, err)
	}
	return res, nil
}

// sweepLog sweeps count partitions from a first one on.
func (s *Store) sweepLog(ctx context.Context, id store.LogID, first, count uint32) (store.LogSweepResult, error) {
	some := make([]uint32, count)
	for i := range some {
		some[i] = first + uint32(i)
	}
	r, now, err := s.timed(ctx, logSweep, s.logKeys(id, []string{"c", "o", "e"}, some...), strconv.FormatUint(uint64(first), 10))
	if err != nil {
		return store.LogSweepResult{}, err
	}
	res := store.LogSweepResult{Trimmed: r.int(), NextDue: until(now, r.int())}
	for unfinished := r.list(); unfinished.more(); {
		s.reclaim(ctx, id, uint32(unfinished.int()))
	}
	return res, r.done()
}
