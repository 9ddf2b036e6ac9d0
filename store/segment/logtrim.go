package segment

import (
	"context"
	"fmt"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/internal/model"
	"github.com/dabba-mq/dabba/store/internal/record"
)

// Trim implements [store.LogAdmin].
func (s *Store) Trim(ctx context.Context, id store.LogID, partition uint32, before store.Offset) (store.Bounds, error) {
	if err := s.journal.Room(ctx, record.HeaderSize+model.TrimmedLen(1), true); err != nil {
		return store.Bounds{}, fmt.Errorf("trim log %d: %w", id, err)
	}
	l, err := s.findLog(id)
	if err != nil {
		return store.Bounds{}, err
	}
	left, lsn, err := s.trim(l, partition, before)
	if err := s.await(lsn, err); err != nil {
		return store.Bounds{}, err
	}
	return left, nil
}

func (s *Store) trim(l *log, partition uint32, before store.Offset) (store.Bounds, journal.LSN, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.alive(); err != nil {
		return store.Bounds{}, l.last, err
	}
	ev, changed, err := l.state.Trim(s.clock.Now(), partition, before)
	if err != nil {
		return store.Bounds{}, l.last, fmt.Errorf("trim log %d: %w", l.id, err)
	}
	if changed {
		s.trimmed(l, ev)
	}
	left, err := l.state.Bounds(partition)
	return left, l.last, err
}

// trimmed appends an event that was decided. l.mu is held.
func (s *Store) trimmed(l *log, ev model.Trimmed) {
	l.last = s.append(sealLog(ev.Encode(room(model.TrimmedLen(len(ev.Parts)))), typeTrimmed, l.id), true)
	l.trimmed = l.last
	l.raise(ev)
}

// raise lets go of the places of what was trimmed.
func (l *log) raise(ev model.Trimmed) {
	for _, t := range ev.Parts {
		l.parts[t.Partition].where.raise(seqOf(t.First))
	}
}

// SweepLog implements [store.LogAdmin].
func (s *Store) SweepLog(ctx context.Context, id store.LogID) (store.LogSweepResult, error) {
	l, err := s.findLog(id)
	if err != nil {
		return store.LogSweepResult{}, err
	}
	l.mu.Lock()
	partitions := len(l.parts)
	l.mu.Unlock()
	if err := s.journal.Room(ctx, record.HeaderSize+model.TrimmedLen(partitions), true); err != nil {
		return store.LogSweepResult{}, fmt.Errorf("sweep log %d: %w", id, err)
	}
	res, lsn, err := s.sweepLog(l)
	if err := s.await(lsn, err); err != nil {
		return store.LogSweepResult{}, err
	}
	return res, nil
}

func (s *Store) sweepLog(l *log) (store.LogSweepResult, journal.LSN, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.alive(); err != nil {
		return store.LogSweepResult{}, l.last, err
	}
	now := s.clock.Now()
	ev, removed, changed := l.state.Sweep(now)
	if changed {
		s.trimmed(l, ev)
	}
	return store.LogSweepResult{Trimmed: removed, NextDue: l.state.NextDue(now)}, l.last, nil
}

// raise tells that the records below floor have left. What an extent that is cut still holds is estimated.
func (w *where) raise(floor store.Seq) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped {
		return
	}
	w.floor = floor
	for _, e := range w.extents {
		if e.last+1-store.Seq(e.live) >= floor {
			break // nothing of it, nor of those behind it, has left
		}
		e.live, e.bytes = cut(e.live, e.bytes, e.last, floor)
		if c := e.merging; c != nil {
			c.live, c.bytes = cut(c.live, c.bytes, c.upTo, floor)
		}
	}
	w.pruneIdle()
}

// cut says how many of live records up to last, and of their bytes, are at or above floor.
func cut(live, bytes int64, last, floor store.Seq) (int64, int64) {
	if last < floor {
		return 0, 0
	}
	left := min(live, int64(last-floor)+1)
	if left == live {
		return live, bytes
	}
	return left, int64(float64(bytes) * float64(left) / float64(live))
}

// pruneIdle removes extents without live records that no merge looks at, but for the last one. w.mu is held.
func (w *where) pruneIdle() {
	keep := w.extents[:0]
	for i, e := range w.extents {
		if e.live > 0 || e.merging != nil || i == len(w.extents)-1 {
			keep = append(keep, e)
		}
	}
	clear(w.extents[len(keep):])
	w.extents = keep
}
