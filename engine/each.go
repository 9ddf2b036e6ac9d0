package engine

import (
	"context"
	"errors"
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

// listed shows what has a key with the prefix, by key, after the key start, at most limit (from 1 to 1,000; anything else
// means 1,000). What was deleted before it could be shown is left out. Fewer than limit means that there is no more.
// errHidden leaves an entry out of a list.
var errHidden = errors.New("not to be shown")

func listed[T any](ctx context.Context, e *Engine, prefix, start string, limit int, show func(store.Pair) (T, error)) ([]T, error) {
	if limit < 1 || limit > pageSize+1 {
		limit = pageSize
	}
	found := make([]T, 0, min(limit, 64))
	for len(found) < limit {
		want := min(limit-len(found), pageSize)
		pairs, err := e.store.List(ctx, prefix, start, want)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			one, err := show(p)
			switch {
			case errors.Is(err, errHidden):
			case err == nil:
				found = append(found, one)
			case ErrorOf(err).Code != CodeNotFound:
				return nil, err
			}
		}
		if len(pairs) < want {
			break
		}
		start = pairs[len(pairs)-1].Key
	}
	return found, nil
}
