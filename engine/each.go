package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

// pageSize is how much of a listing is read at once.
const pageSize = 1000

// eachPair calls do for all pairs whose key has the prefix, by key, and reads so many of them at a time. It ends with the
// first error.
func (e *Engine) eachPair(ctx context.Context, prefix string, page int, do func(store.Pair) error) error {
	for after := ""; ; {
		pairs, err := e.store.List(ctx, prefix, after, page)
		if err != nil {
			return fmt.Errorf("list keys that begin with %s: %w", strings.TrimSuffix(prefix, "/"), err)
		}
		for _, p := range pairs {
			if err := do(p); err != nil {
				return err
			}
		}
		if len(pairs) < page {
			return nil
		}
		after = pairs[len(pairs)-1].Key
	}
}
