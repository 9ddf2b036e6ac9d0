package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// A registry is the sorted set of all generations of a kind, as 20 decimal digits each. It is in another slot than
// the generations, so it may name some that were never configured or are dropped already, never fewer: a generation is
// entered before it is made and taken out after it is gone.
func (s *Store) registry(kind byte) string { return fmt.Sprintf("%s{%c}all", s.o.Prefix, kind) }

func digits(id uint64) string { return fmt.Sprintf("%020d", id) }

// enroll enters a generation.
func (s *Store) enroll(ctx context.Context, kind byte, id uint64) error {
	return s.do(ctx, func(c redis.Cmdable) error {
		return c.ZAdd(ctx, s.registry(kind), redis.Z{Member: digits(id)}).Err()
	})
}

// unlessDropped strikes a generation off again that was enrolled to be configured and turned out to be dropped.
func (s *Store) unlessDropped(ctx context.Context, kind byte, id uint64, err error) error {
	if errors.Is(err, store.ErrGone) {
		return errors.Join(err, s.strike(ctx, kind, id))
	}
	return err
}

// strike takes a generation out.
func (s *Store) strike(ctx context.Context, kind byte, id uint64) error {
	return s.do(ctx, func(c redis.Cmdable) error { return c.ZRem(ctx, s.registry(kind), digits(id)).Err() })
}

// enrolled lists the generations after one that exist, in rising order: those of which the hash with this name has a
// revision.
func (s *Store) enrolled(ctx context.Context, kind byte, after uint64, limit int, name string) ([]uint64, error) {
	var ids []uint64
	for len(ids) < limit {
		page, err := s.page(ctx, kind, after, min(limit-len(ids), pageSize), name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, page.exist...)
		if page.last == 0 {
			break
		}
		after = page.last
	}
	return ids, nil
}

// pageSize bounds what is asked of a registry at once.
const pageSize = 500

// page is a part of a registry: the generations that exist, and the last one that was looked at, 0 if it was the end.
type page struct {
	exist []uint64
	last  uint64
}

func (s *Store) page(ctx context.Context, kind byte, after uint64, limit int, name string) (page, error) {
	var p page
	err := s.do(ctx, func(c redis.Cmdable) error {
		p = page{}
		names, err := c.ZRangeByLex(ctx, s.registry(kind), &redis.ZRangeBy{
			Min: "(" + digits(after), Max: "+", Count: int64(limit),
		}).Result()
		if err != nil || len(names) == 0 {
			return err
		}
		ids := make([]uint64, len(names))
		there := make([]*redis.BoolCmd, len(names))
		_, _ = c.Pipelined(ctx, func(c redis.Pipeliner) error {
			for i := range names {
				if ids[i], err = strconv.ParseUint(names[i], 10, 64); err != nil {
					return err
				}
				there[i] = c.HExists(ctx, s.keys(kind, ids[i], name)[0], "revision")
			}
			return nil
		})
		for i := range ids {
			if err != nil {
				break
			}
			exists, failed := there[i].Result()
			if redis.HasErrorPrefix(failed, "WRONGTYPE") {
				exists, failed = true, nil // all but its counters is there
			}
			if exists {
				p.exist = append(p.exist, ids[i])
			}
			err = failed
		}
		if len(ids) == limit {
			p.last = ids[limit-1]
		}
		return err
	})
	return p, err
}
