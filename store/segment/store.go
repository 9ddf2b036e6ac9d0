package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
)

// Store implements [store.Store] on a folder.
type Store struct {
	o     Options
	lock  io.Closer
	clock *model.Clock
	// protected is until when retention and times to live remove nothing.
	protected model.Millis
	journal   *journal.Journal
	kv        pairs
	space     space

	// mu guards the maps and dropped.
	mu      sync.RWMutex
	queues  map[store.QueueID]*queue
	logs    map[store.LogID]*log
	dropped journal.LSN // of the last drop

	notify    func(store.QueueID)
	notifyLog func(store.LogID, uint32)
	upkeep    upkeep

	closed    atomic.Bool // no new calls
	closeOnce sync.Once
	closeErr  error
}

var _ store.Store = (*Store)(nil)

// never is the LSN of a record that the journal refused: waiting for it tells why.
const never = journal.LSN(math.MaxUint64)

// Watch implements [store.Store].
func (s *Store) Watch(notify func(store.QueueID)) { s.notify = notify }

// Ping implements [store.Store].
func (s *Store) Ping(context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.journal.Err()
}

// usable refuses calls that begin after Close.
func (s *Store) usable() error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// Info implements [store.Store].
func (s *Store) Info() store.Info {
	promise := "acknowledged means synced to disk: survives kill -9 and power loss"
	switch s.o.Sync {
	case SyncInterval:
		promise = fmt.Sprintf("acknowledged means written: survives kill -9; power loss may take the last %v", s.o.Interval)
	case SyncNone:
		promise = "acknowledged means written: survives kill -9; power loss may take what the system has not written out yet"
	case SyncAlways:
	}
	return store.Info{Name: "segment", Promise: promise, Durable: true}
}

// Clock implements [store.Store].
func (s *Store) Clock() store.Clock { return s.clock.Show(s.protected) }

// Close implements [store.Store]. A last checkpoint makes the next start quick. Repeating it is harmless.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.shut() })
	return s.closeErr
}

func (s *Store) shut() error {
	s.closed.Store(true)
	s.upkeep.stop()
	if s.journal.Err() == nil {
		s.recordTime()
		if err := s.checkpoint(); err != nil {
			s.o.Events.warn("no checkpoint on closing, the next start replays more of the journal: " + err.Error())
		}
	}
	if err := errors.Join(s.journal.Close(), s.lock.Close()); err != nil {
		return fmt.Errorf("close store in %s: %w", s.o.Dir, err)
	}
	return nil
}

// find returns a queue. That it is not there is told once it is certain.
func (s *Store) find(id store.QueueID) (*queue, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	q, lsn := s.queues[id], s.dropped
	s.mu.RUnlock()
	if q == nil {
		return nil, s.await(lsn, fmt.Errorf("queue %d: %w", id, store.ErrGone))
	}
	return q, nil
}

// append puts a record into the journal's line. A refusal shows when its LSN is waited for.
func (s *Store) append(rec []byte, urgent bool) journal.LSN {
	lsn, err := s.journal.Append(rec, urgent)
	if err != nil {
		return never
	}
	s.upkeep.changed()
	return lsn
}

// await gives the answer err, which may be nil, once the journal is durable up to what it was decided from.
func (s *Store) await(lsn journal.LSN, err error) error {
	if lsn > s.journal.Durable() {
		if e := s.journal.Wait(lsn); e != nil {
			return e
		}
	}
	return err
}
