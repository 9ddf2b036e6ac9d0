package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/model"
)

type log struct {
	*model.Log
	// records are, for each partition, those from its first offset on.
	records [][]logRecord
}

// logRecord is a record whose time is its own, or else queue time: when it was appended.
type logRecord struct {
	store.Fetched
	own bool
}

// shown is the record as the wall clock, which is ahead, has it.
func (r *logRecord) shown(ahead model.Ahead) store.Fetched {
	f := r.Fetched
	if !r.own {
		f.Time = ahead.Show(f.Time)
	}
	return f
}

// WatchLogs implements [store.LogAdmin].
func (s *Store) WatchLogs(notify func(store.LogID, uint32)) { s.notifyLog = notify }

// ConfigureLog implements [store.LogAdmin].
func (s *Store) ConfigureLog(_ context.Context, id store.LogID, settings store.LogSettings) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	l := s.logs[id]
	if l == nil {
		l = &log{Log: model.NewLog(id)}
		s.logs[id] = l
	}
	l.Configure(s.clock.Now(), settings)
	l.records = append(l.records, make([][]logRecord, l.Partitions()-len(l.records))...)
	return nil
}

// DropLog implements [store.LogAdmin].
func (s *Store) DropLog(_ context.Context, id store.LogID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, id)
	return s.open()
}

// Logs implements [store.LogAdmin].
func (s *Store) Logs(_ context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []store.LogID
	for id := range s.logs {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, cmp.Compare[store.LogID])
	return ids[:min(limit, len(ids))], s.open()
}

// findLog returns a log, with the store's lock held.
func (s *Store) findLog(id store.LogID) (*log, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	l := s.logs[id]
	if l == nil {
		return nil, fmt.Errorf("log %d: %w", id, store.ErrGone)
	}
	return l, nil
}

// Append implements [store.Log].
func (s *Store) Append(_ context.Context, p store.AppendParams) (store.AppendResult, error) {
	res, err := s.appendLog(p)
	if err == nil && !res.Duplicate {
		for _, part := range res.Parts {
			s.notifyLog(p.Log, part.Partition)
		}
	}
	return res, err
}

func (s *Store) appendLog(p store.AppendParams) (store.AppendResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.findLog(p.Log)
	if err != nil {
		return store.AppendResult{}, err
	}
	now, ahead := s.clock.Read()
	ev, res, fresh, err := l.Append(now, p)
	res = ahead.Appended(res)
	if err != nil || !fresh {
		return res, err
	}
	for i, part := range ev.Parts {
		for j, r := range p.Parts[i].Records {
			at, own := part.Records[j].Time, true
			if at == model.NoTime {
				at, own = ev.At, false
			}
			l.records[part.Partition] = append(l.records[part.Partition], logRecord{store.Fetched{
				Offset: part.First + store.Offset(j), Payload: slices.Clone(r.Payload), Size: r.Size, Time: model.Time(at),
			}, own})
		}
	}
	return res, nil
}

// Fetch implements [store.Log].
func (s *Store) Fetch(_ context.Context, p store.FetchParams) (store.FetchResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.findLog(p.Log)
	if err != nil {
		return store.FetchResult{}, err
	}
	bounds, err := l.Within(p.Partition, p.Offset)
	if err != nil {
		return store.FetchResult{}, fmt.Errorf("fetch from log %d: %w", p.Log, err)
	}
	res := store.FetchResult{Bounds: bounds}
	left, ahead := p.MaxBytes, s.clock.Ahead()
	for _, r := range l.records[p.Partition][p.Offset-bounds.First:] {
		if left -= int64(r.Size); len(res.Records) == p.Max || len(res.Records) > 0 && left < 0 {
			break
		}
		shown := r.shown(ahead)
		shown.Payload = slices.Clone(r.Payload)
		res.Records = append(res.Records, shown)
	}
	return res, nil
}

// Seek implements [store.Log].
func (s *Store) Seek(_ context.Context, id store.LogID, partition uint32, at time.Time) (store.Offset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.findLog(id)
	if err != nil {
		return 0, err
	}
	bounds, err := l.Bounds(partition)
	if err != nil {
		return 0, fmt.Errorf("seek in log %d: %w", id, err)
	}
	ahead := s.clock.Ahead()
	for _, r := range l.records[partition] {
		if !r.shown(ahead).Time.Before(model.Time(model.MillisOf(at))) {
			return r.Offset, nil
		}
	}
	return bounds.Next, nil
}

// Bounds implements [store.Log].
func (s *Store) Bounds(_ context.Context, id store.LogID) ([]store.Bounds, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.findLog(id)
	if err != nil {
		return nil, err
	}
	return l.AllBounds(), nil
}

// Trim implements [store.LogAdmin].
func (s *Store) Trim(_ context.Context, id store.LogID, partition uint32, before store.Offset) (store.Bounds, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.findLog(id)
	if err != nil {
		return store.Bounds{}, err
	}
	ev, _, err := l.Trim(s.clock.Now(), partition, before)
	if err != nil {
		return store.Bounds{}, fmt.Errorf("trim log %d: %w", id, err)
	}
	l.forget(ev)
	bounds, _ := l.Bounds(partition)
	return bounds, nil
}

// SweepLog implements [store.LogAdmin].
func (s *Store) SweepLog(_ context.Context, id store.LogID) (store.LogSweepResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.findLog(id)
	if err != nil {
		return store.LogSweepResult{}, err
	}
	now := s.clock.Now()
	ev, trimmed, _ := l.Sweep(now)
	l.forget(ev)
	return store.LogSweepResult{Trimmed: trimmed, NextDue: l.NextDue(now)}, nil
}

// forget lets go of what was trimmed.
func (l *log) forget(ev model.Trimmed) {
	for _, t := range ev.Parts {
		list := l.records[t.Partition]
		if n := len(list); n == 0 || t.First > list[n-1].Offset {
			l.records[t.Partition] = nil
			continue
		}
		l.records[t.Partition] = slices.Clone(list[t.First-list[0].Offset:])
	}
}
