// Package memory keeps everything in the process: the store for tests and for trying things out. It runs the same
// state machine as the segment store, so that it behaves alike in all but durability.
//
// What does not live here: rules (store/internal/model), anything on disk.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Options configure a Store.
type Options struct {
	// Now drives queue time: only differences of what it shows count, and it never goes back. Its monotonic reading is taken
	// if it has one.
	Now func() time.Time
	// Wall shows the wall clock, which may be set at any time; nil means that Now does.
	Wall func() time.Time
}

// Store implements [store.Store]. One mutex guards it all.
type Store struct {
	clock *model.Clock

	mu     sync.Mutex
	queues map[store.QueueID]*queue
	kv     *model.KV
	logs   map[store.LogID]*log
	notify func(store.QueueID)
	closed bool

	notifyLog func(store.LogID, uint32)
}

type queue struct {
	*model.Queue
	messages map[store.Seq]model.Stored
}

func newQueue(id store.QueueID) *queue {
	q := &queue{model.NewQueue(id), make(map[store.Seq]model.Stored)}
	q.Erased = func(seq store.Seq, _ uint32) { delete(q.messages, seq) }
	q.Cleared = func() { clear(q.messages) }
	return q
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(o Options) *Store {
	wall := o.Wall
	if wall == nil {
		wall = o.Now
	}
	return &Store{
		clock:  model.NewClock(o.Now, wall, model.MillisOf(wall())),
		queues: make(map[store.QueueID]*queue),
		kv:     model.NewKV(),
		logs:   make(map[store.LogID]*log),
		notify: func(store.QueueID) {},

		notifyLog: func(store.LogID, uint32) {},
	}
}

// Watch implements [store.Store].
func (s *Store) Watch(notify func(store.QueueID)) { s.notify = notify }

// Ping implements [store.Store].
func (s *Store) Ping(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open()
}

// Info implements [store.Store].
func (s *Store) Info() store.Info {
	return store.Info{Name: "memory", Promise: "nothing survives the end of the process"}
}

// Clock implements [store.Store].
func (s *Store) Clock() store.Clock { return s.clock.Show(0) }

// read reads the clocks for a call on queues, which follow the wall clock. The store's lock is held.
func (s *Store) read(list ...*queue) (model.Millis, model.Ahead) {
	now, ahead := s.clock.Read()
	for _, q := range list {
		if q.Ahead() != ahead {
			q.Step(now, ahead)
		}
	}
	return now, ahead
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) open() error {
	if s.closed {
		return store.ErrClosed
	}
	return nil
}

// find returns a queue, with the store's lock held.
func (s *Store) find(id store.QueueID) (*queue, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	q := s.queues[id]
	if q == nil {
		return nil, fmt.Errorf("queue %d: %w", id, store.ErrGone)
	}
	return q, nil
}

// current returns a queue that has the given revision.
func (s *Store) current(id store.QueueID, revision uint64) (*queue, error) {
	q, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return q, q.Check(revision)
}

// Configure implements [store.QueueAdmin].
func (s *Store) Configure(_ context.Context, id store.QueueID, settings store.Settings) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	q := s.queues[id]
	if q == nil {
		q = newQueue(id)
		s.queues[id] = q
	}
	q.Configure(s.clock.Now(), settings)
	return nil
}

// Drop implements [store.QueueAdmin].
func (s *Store) Drop(_ context.Context, id store.QueueID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queues, id)
	return s.open()
}

// Queues implements [store.QueueAdmin].
func (s *Store) Queues(_ context.Context, after store.QueueID, limit int) ([]store.QueueID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []store.QueueID
	for id := range s.queues {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, cmp.Compare[store.QueueID])
	return ids[:min(limit, len(ids))], s.open()
}

// Sweep implements [store.QueueAdmin].
func (s *Store) Sweep(_ context.Context, id store.QueueID) (store.SweepResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(id)
	if err != nil {
		return store.SweepResult{}, err
	}
	now, _ := s.read(q)
	ev, _ := q.Sweep(now)
	stats := q.Stats(now)
	return store.SweepResult{
		Expired: len(ev.Expired), Lapsed: len(ev.Lapsed), Ready: stats.Ready, Dead: stats.Dead, NextDue: stats.NextDue,
	}, nil
}

// Stats implements [store.Queues].
func (s *Store) Stats(_ context.Context, id store.QueueID) (store.Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(id)
	if err != nil {
		return store.Stats{}, err
	}
	now, _ := s.read(q)
	return q.Stats(now), nil
}
