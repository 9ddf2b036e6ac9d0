package redistest

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// remove takes away all keys with a prefix.
func remove(tb testing.TB, url, prefix string) {
	tb.Helper()
	if !strings.HasPrefix(url, "redis://") && !strings.HasPrefix(url, "rediss://") {
		return // a fleet that was started for these tests
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // nothing is kept
	ctx := context.WithoutCancel(tb.Context())
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			_, err = c.Pipelined(ctx, func(c redis.Pipeliner) error {
				for _, key := range keys {
					c.Unlink(ctx, key) // one by one: they are in different slots
				}
				return nil
			})
		}
		if err != nil {
			tb.Errorf("remove the keys %s*: %v", prefix, err)
		}
		if cursor = next; cursor == 0 || err != nil {
			return
		}
	}
}
