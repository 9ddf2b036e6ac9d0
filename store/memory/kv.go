package memory

import (
	"context"
	"slices"

	"github.com/dabba-mq/dabba/store"
)

// Get implements [store.KV].
func (s *Store) Get(_ context.Context, key string) (store.Pair, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return store.Pair{}, err
	}
	p, err := s.kv.Get(key)
	p.Value = slices.Clone(p.Value)
	return p, err
}

// Put implements [store.KV].
func (s *Store) Put(_ context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	ev, err := s.kv.Put(key, value, prev)
	return ev.Pair.Revision, err
}

// Delete implements [store.KV].
func (s *Store) Delete(_ context.Context, key string, prev store.Revision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	_, _, err := s.kv.Delete(key, prev)
	return err
}

// List implements [store.KV].
func (s *Store) List(_ context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.kv.List(prefix, after, limit)
	for i := range list {
		list[i].Value = slices.Clone(list[i].Value)
	}
	return list, s.open()
}
