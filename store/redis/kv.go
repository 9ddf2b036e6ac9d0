package redis

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

var (
	kvGet     = newScript("kv_get")
	kvPut     = newScript("kv_put")
	kvReplace = newScript("kv_replace")
	kvDelete  = newScript("kv_delete")
	kvList    = newScript("kv_list")
)

// listPage bounds how many pairs one script reads.
const listPage = 200

// kvKeys are the hash of values, that of revisions, the sorted set of keys, the last revision given out, the time lines and the
// record of who serves them.
func (s *Store) kvKeys(n int) []string {
	base := s.o.Prefix + "{kv}"
	return []string{base + "v", base + "n", base + "k", base + "r", base + "c", s.fenceKey(kvTag)}[:n]
}

// Get implements [store.KV].
func (s *Store) Get(ctx context.Context, key string) (store.Pair, error) {
	r, err := s.call(ctx, kvGet, s.kvKeys(2), key)
	switch {
	case err != nil:
		return store.Pair{}, fmt.Errorf("get %q: %w", key, err)
	case !r.more():
		return store.Pair{}, fmt.Errorf("get %q: %w", key, store.ErrNotFound)
	}
	p := store.Pair{Key: key, Value: []byte(r.text()), Revision: store.Revision(r.int())}
	return p, r.done()
}

// Put implements [store.KV].
func (s *Store) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	sc := kvPut
	if prev != 0 { // what is there, or one of the few pairs that are written whatever is there
		sc = kvReplace
	}
	r, now, err := s.timed(ctx, sc, s.kvKeys(6), key, value, expected(prev))
	if err != nil {
		return 0, fmt.Errorf("put %q at revision %s: %w", key, expected(prev), err)
	}
	revision := r.int()
	s.toldRevision(revision, r, now)
	return store.Revision(revision), r.done()
}

// Delete implements [store.KV].
func (s *Store) Delete(ctx context.Context, key string, prev store.Revision) error {
	r, now, err := s.timed(ctx, kvDelete, s.kvKeys(6), key, expected(prev))
	if err != nil {
		return fmt.Errorf("delete %q at revision %s: %w", key, expected(prev), err)
	}
	s.toldRevision(r.int(), r, now)
	return r.done()
}

// expected is a condition as the scripts take it.
func expected(prev store.Revision) string {
	if prev == store.AnyRevision {
		return "any"
	}
	return decimal(uint64(prev))
}

// List implements [store.KV].
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	var list []store.Pair
	from := "[" + prefix
	if after >= prefix {
		from = "(" + after
	}
	for len(list) < limit {
		r, err := s.call(ctx, kvList, s.kvKeys(3), from, behind(prefix), min(limit-len(list), listPage))
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", prefix, err)
		}
		if !r.more() {
			break
		}
		for r.more() {
			p := store.Pair{Key: r.text(), Value: []byte(r.text()), Revision: store.Revision(r.int())}
			if from = "(" + p.Key; p.Revision != 0 {
				list = append(list, p)
			}
		}
		if err := r.done(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// behind is the bound of a lexicographic range that ends with the last key of a prefix.
func behind(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return "(" + prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return "+"
}
