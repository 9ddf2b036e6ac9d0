package segment

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// pairs is the key-value part with the LSN of its last change.
type pairs struct {
	mu    sync.Mutex
	state *model.KV
	last  journal.LSN
}

// Get implements [store.KV].
func (s *Store) Get(_ context.Context, key string) (store.Pair, error) {
	if err := s.usable(); err != nil {
		return store.Pair{}, err
	}
	s.kv.mu.Lock()
	p, err := s.kv.state.Get(key)
	lsn := s.kv.last
	s.kv.mu.Unlock()
	p.Value = slices.Clone(p.Value)
	return p, s.await(lsn, err)
}

// List implements [store.KV].
func (s *Store) List(_ context.Context, prefix, after string, limit int) ([]store.Pair, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.kv.mu.Lock()
	list := s.kv.state.List(prefix, after, limit)
	lsn := s.kv.last
	s.kv.mu.Unlock()
	for i := range list {
		list[i].Value = slices.Clone(list[i].Value)
	}
	return list, s.await(lsn, nil)
}

// Put implements [store.KV].
func (s *Store) Put(ctx context.Context, key string, value []byte, prev store.Revision) (store.Revision, error) {
	size := len(key) + len(value) + 64
	var err error
	if prev == 0 || prev == store.AnyRevision {
		err = s.admit(ctx, size)
	} else { // what it replaces is given up
		err = s.journal.Room(ctx, size, true)
	}
	if err != nil {
		return 0, fmt.Errorf("put %q: %w", key, err)
	}
	ev, lsn, err := s.change(func(kv *model.KV) (model.Changed, bool, error) {
		ev, err := kv.Put(key, value, prev)
		return ev, err == nil, err
	})
	return ev.Pair.Revision, s.await(lsn, err)
}

// Delete implements [store.KV].
func (s *Store) Delete(ctx context.Context, key string, prev store.Revision) error {
	if err := s.journal.Room(ctx, len(key)+64, true); err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	_, lsn, err := s.change(func(kv *model.KV) (model.Changed, bool, error) { return kv.Delete(key, prev) })
	return s.await(lsn, err)
}

// change decides and appends.
func (s *Store) change(decide func(*model.KV) (model.Changed, bool, error)) (model.Changed, journal.LSN, error) {
	s.kv.mu.Lock()
	defer s.kv.mu.Unlock()
	ev, changed, err := decide(s.kv.state)
	if changed {
		s.kv.last = s.append(seal(ev.Encode(room(32+len(ev.Pair.Key)+len(ev.Pair.Value))), typeChanged, 0), true)
	}
	return ev, s.kv.last, err
}
