package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Erase removes everything under a prefix, which may not be empty: all that stores with these options have kept. No store
// may be open on it. It takes time in proportion to all keys of the server.
func Erase(ctx context.Context, o Options) error {
	if o.Prefix == "" {
		return errors.New("erase without a prefix: name the keys to remove")
	}
	quiet()
	a, err := parseEndpoint(o.URL)
	if err != nil {
		return err
	}
	c := redis.NewUniversalClient(a.plainly())
	defer c.Close() //nolint:errcheck // nothing is kept
	each := func(ctx context.Context, c *redis.Client) error { return eraseFrom(ctx, c, o.Prefix) }
	switch c := c.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, each)
	case *redis.Client:
		return each(ctx, c)
	default:
		return fmt.Errorf("no way to look through the keys with a %T", c)
	}
}

// eraseFrom removes what one server has.
func eraseFrom(ctx context.Context, c *redis.Client, prefix string) error {
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, key := range keys { // keys of several slots in one call are refused by a cluster
					p.Unlink(ctx, key)
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
