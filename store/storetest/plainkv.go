package storetest

import (
	"context"
	"slices"
	"strings"

	"github.com/dabba-mq/dabba/store"
)

func (s *plain) Get(_ context.Context, key string) (store.Pair, error) {
	p, there := s.keys[key]
	if !there {
		return p, store.ErrNotFound
	}
	p.Value = slices.Clone(p.Value)
	return p, nil
}

func (s *plain) Put(_ context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	if prev != store.AnyRevision && prev != s.keys[key].Revision {
		return 0, store.ErrConflict
	}
	s.revision++
	s.keys[key] = store.Pair{Key: key, Value: slices.Clone(value), Revision: s.revision}
	return s.revision, nil
}

func (s *plain) Delete(_ context.Context, key string, prev store.Revision) error {
	if prev != store.AnyRevision && prev != s.keys[key].Revision {
		return store.ErrConflict
	}
	delete(s.keys, key)
	return nil
}

func (s *plain) List(_ context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	var list []store.Pair
	for key, p := range s.keys {
		if strings.HasPrefix(key, prefix) && key > after {
			p.Value = slices.Clone(p.Value)
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b store.Pair) int { return strings.Compare(a.Key, b.Key) })
	return list[:min(len(list), limit)], nil
}
