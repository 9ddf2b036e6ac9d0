package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Erase removes everything under a prefix, which may not be empty: all that stores with these options have kept. No store
// may be open on it. It takes time in proportion to all keys of the server.
func Erase(ctx context.Context, o Options) error {
	if o.Prefix == "" {
		return errors.New("erase without a prefix: name the keys to remove")
	}
	quiet()
	co, err := redis.ParseURL(o.URL)
	if err != nil {
		return err
	}
	c := redis.NewClient(co)
	defer c.Close() //nolint:errcheck // nothing is kept
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, o.Prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = c.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
