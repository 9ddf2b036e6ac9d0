package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

var (
	logConfigure  = newRepeatable("log_configure")
	logPartitions = newScript("log_partitions")
	logDrop       = newRepeatable("log_drop")
)

// ConfigureLog implements [store.LogAdmin].
func (s *Store) ConfigureLog(ctx context.Context, id store.LogID, c store.LogSettings) error {
	enrolled, err := s.noted(ctx, 'l', uint64(id))
	if err == nil && !enrolled {
		err = s.enroll(ctx, 'l', uint64(id))
	}
	_, known := s.madeLogs.Load(id) // if that it was enrolled is lost, too
	known = known || enrolled
	if err == nil {
		_, _, err = s.timed(ctx, logConfigure, append(s.logKeys(id, []string{"c"}), s.fenceKey(int(id%tags))),
			decimal(c.Revision), max(c.Partitions, 1), millis(c.RetentionAge), c.RetentionBytes, flag(known))
		err = s.unlessDropped(ctx, 'l', uint64(id), err)
	}
	if err != nil {
		return fmt.Errorf("configure log %d: %w", id, err)
	}
	s.madeLogs.Store(id, nil)
	return nil
}

// noted says whether a generation was enrolled before.
func (s *Store) noted(ctx context.Context, kind byte, id uint64) (bool, error) {
	known := false
	err := s.do(ctx, func(c redis.Cmdable) error {
		err := c.ZScore(ctx, s.registry(kind), digits(id)).Err()
		known = err == nil
		if errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	return known, err
}

// DropLog implements [store.LogAdmin].
func (s *Store) DropLog(ctx context.Context, id store.LogID) error {
	err := s.dropLog(ctx, id)
	if err == nil {
		s.madeLogs.Delete(id)
		err = s.strike(ctx, 'l', uint64(id))
	}
	if err != nil {
		return fmt.Errorf("drop log %d: %w", id, err)
	}
	return nil
}

// dropLog removes the keys of a log: those of all the partitions that it has at that moment.
func (s *Store) dropLog(ctx context.Context, id store.LogID) error {
	for {
		n, err := s.partitions(ctx, id)
		if err != nil {
			return err
		}
		all := make([]uint32, n)
		for p := range all {
			all[p] = uint32(p)
		}
		r, err := s.call(ctx, logDrop, s.logKeys(id, []string{"c", "o", "e"}, all...), n)
		if err != nil {
			return err
		}
		if r.int() == 1 || r.done() != nil {
			return r.done()
		}
	}
}

// partitions is how many a log has; 0 if there is no such log.
func (s *Store) partitions(ctx context.Context, id store.LogID) (uint32, error) {
	r, err := s.call(ctx, logPartitions, s.logKeys(id, []string{"c"}))
	if err != nil {
		return 0, err
	}
	return uint32(r.int()), r.done()
}

// Logs implements [store.LogAdmin].
func (s *Store) Logs(ctx context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	ids, err := s.enrolled(ctx, 'l', uint64(after), limit, "c")
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	list := make([]store.LogID, len(ids))
	for i, id := range ids {
		list[i] = store.LogID(id)
	}
	return list, nil
}
