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

// log is one log: its state, what the journal knows of it, and where its records are.
type log struct {
	id store.LogID

	// mu guards the fields below and is held while a call decides and appends its record; never over I/O.
	mu    sync.Mutex
	state *model.Log // nil once dropped
	// last is the LSN of the log's last record, trimmed that of the last one that removed something.
	last, trimmed journal.LSN
	parts         []*partition
}

// partition is where the records of one partition are. Sequences of where are offsets plus one. Fields but where are
// guarded by log.mu.
type partition struct {
	where where
	// appending are the appends that may not be durable yet, in order; durable is the end of those that are.
	appending []appending
	durable   store.Offset
}

// appending says that records below end are durable once the journal is up to lsn.
type appending struct {
	end store.Offset
	lsn journal.LSN
}

func newLog(id store.LogID, state *model.Log) *log {
	l := &log{id: id, state: state}
	l.grow()
	return l
}

// grow makes as many partitions as the state has. l.mu is held, or nobody else knows l.
func (l *log) grow() {
	for i := len(l.parts); i < l.state.Partitions(); i++ {
		p := &partition{}
		b, _ := l.state.Bounds(uint32(i))
		p.where.floor, p.durable = seqOf(b.First), b.Next
		p.where.owner = fmt.Sprintf("partition %d of log %x", i, uint64(l.id))
		l.parts = append(l.parts, p)
	}
}

// seqOf is what where knows a record by.
func seqOf(o store.Offset) store.Seq { return store.Seq(o) + 1 }

// end is the durable end of the partition. log.mu is held.
func (p *partition) end(durable journal.LSN) store.Offset {
	done := 0
	for done < len(p.appending) && p.appending[done].lsn <= durable {
		p.durable = p.appending[done].end
		done++
	}
	p.appending = slices.Delete(p.appending, 0, done)
	return p.durable
}

// alive refuses a call on a dropped log. l.mu is held.
func (l *log) alive() error {
	if l.state == nil {
		return fmt.Errorf("log %d: %w", l.id, store.ErrGone)
	}
	return nil
}

// findLog returns a log. That it is not there is told once it is certain.
func (s *Store) findLog(id store.LogID) (*log, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	l, lsn := s.logs[id], s.dropped
	s.mu.RUnlock()
	if l == nil {
		return nil, s.await(lsn, fmt.Errorf("log %d: %w", id, store.ErrGone))
	}
	return l, nil
}

// allLogs lists the logs.
func (s *Store) allLogs() []*log {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*log, 0, len(s.logs))
	for _, l := range s.logs {
		list = append(list, l)
	}
	return list
}

// partitionOf returns where the records of a partition are, or nil.
func (s *Store) partitionOf(id store.LogID, partition uint32) *where {
	s.mu.RLock()
	l := s.logs[id]
	s.mu.RUnlock()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if int(partition) >= len(l.parts) {
		return nil
	}
	return &l.parts[partition].where
}

// WatchLogs implements [store.LogAdmin].
func (s *Store) WatchLogs(notify func(store.LogID, uint32)) { s.notifyLog = notify }

// ConfigureLog implements [store.LogAdmin]. As with queues, it is not refused for want of space as long as there is any.
func (s *Store) ConfigureLog(ctx context.Context, id store.LogID, settings store.LogSettings) error {
	if err := s.usable(); err != nil {
		return err
	}
	if l, lsn := s.configuredLog(id, settings.Revision); l != nil {
		return s.await(lsn, nil)
	}
	if err := s.journal.Room(ctx, 128, true); err != nil {
		return fmt.Errorf("configure log %d: %w", id, err)
	}
	s.mu.Lock()
	l := s.logs[id]
	if l == nil {
		l = newLog(id, model.NewLog(id))
		s.logs[id] = l
	}
	lsn := s.configureLog(l, settings)
	s.mu.Unlock()
	return s.await(lsn, nil)
}

// configuredLog returns a log that has the settings of that revision, or later ones, and the LSN that this depends on.
func (s *Store) configuredLog(id store.LogID, revision uint64) (*log, journal.LSN) {
	s.mu.RLock()
	l := s.logs[id]
	s.mu.RUnlock()
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || l.state.Revision() < revision {
		return nil, 0
	}
	return l, l.last
}

// configureLog decides and appends. s.mu is held, so that a log is not found before its first record has an LSN.
func (s *Store) configureLog(l *log, settings store.LogSettings) journal.LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ev, changed := l.state.Configure(s.clock.Now(), settings); changed {
		l.last = s.append(sealLog(ev.Encode(room(64)), typeLogConfigured, l.id), true)
		l.grow()
	}
	return l.last
}

// DropLog implements [store.LogAdmin].
func (s *Store) DropLog(ctx context.Context, id store.LogID) error {
	if err := s.journal.Room(ctx, 64, true); err != nil {
		return fmt.Errorf("drop log %d: %w", id, err)
	}
	return s.await(s.dropLog(id), nil)
}

func (s *Store) dropLog(id store.LogID) journal.LSN {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l == nil {
		return s.dropped
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(s.logs, id)
	l.state = nil
	for _, p := range l.parts {
		p.where.drop()
	}
	l.last = s.append(sealLog(room(0), typeLogDropped, id), true)
	s.dropped = l.last
	return l.last
}

// Logs implements [store.LogAdmin].
func (s *Store) Logs(_ context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	ids := make([]store.LogID, 0, len(s.logs))
	for id := range s.logs {
		if id > after {
			ids = append(ids, id)
		}
	}
	lsn := s.dropped
	s.mu.RUnlock()
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], s.await(lsn, nil)
}

// Bounds implements [store.Log].
func (s *Store) Bounds(_ context.Context, id store.LogID) ([]store.Bounds, error) {
	l, err := s.findLog(id)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	lsn := l.last
	var all []store.Bounds
	if err = l.alive(); err == nil {
		all = l.state.AllBounds()
	}
	l.mu.Unlock()
	return all, s.await(lsn, err)
}
