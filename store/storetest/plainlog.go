package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// plainLog is a log in the simplest code there is: every record that ever was is a struct in a slice.
type plainLog struct {
	settings store.LogSettings
	parts    []plainPartition
	once     map[[16]byte]plainAppend
}

type plainPartition struct {
	first   store.Offset
	records []plainRecord // from offset 0 on
}

type plainRecord struct {
	store.Fetched
	at time.Time // when it was appended
}

type plainAppend struct {
	store.Once
	result store.AppendResult
	ends   time.Time
}

func (s *plain) WatchLogs(func(store.LogID, uint32)) {}

func (s *plain) ConfigureLog(_ context.Context, id store.LogID, settings store.LogSettings) error {
	l := s.logs[id]
	if l == nil {
		l = &plainLog{once: make(map[[16]byte]plainAppend)}
		s.logs[id] = l
	}
	if settings.Revision > l.settings.Revision {
		l.settings = settings
		for len(l.parts) < int(settings.Partitions) {
			l.parts = append(l.parts, plainPartition{})
		}
	}
	return nil
}

func (s *plain) DropLog(_ context.Context, id store.LogID) error {
	delete(s.logs, id)
	return nil
}

func (s *plain) Logs(_ context.Context, after store.LogID, limit int) ([]store.LogID, error) {
	list := slices.Sorted(maps.Keys(s.logs))
	list = slices.DeleteFunc(list, func(id store.LogID) bool { return id <= after })
	return list[:min(limit, len(list))], nil
}

// partition finds a partition.
func (s *plain) partition(id store.LogID, partition uint32) (*plainPartition, error) {
	l := s.logs[id]
	switch {
	case l == nil:
		return nil, store.ErrGone
	case int(partition) >= len(l.parts):
		return nil, store.ErrStaleConfig
	}
	return &l.parts[partition], nil
}

func (p *plainPartition) bounds() store.Bounds {
	b := store.Bounds{First: p.first, Next: store.Offset(len(p.records))}
	for _, r := range p.records[p.first:] {
		b.Bytes += int64(r.Size)
	}
	return b
}

func (s *plain) Append(_ context.Context, p store.AppendParams) (store.AppendResult, error) {
	l := s.logs[p.Log]
	if l == nil {
		return store.AppendResult{}, store.ErrGone
	}
	if l.settings.Revision != p.Revision {
		return store.AppendResult{}, store.ErrStaleConfig
	}
	now := s.clock.Now()
	if p.Once != nil {
		if first, seen := l.once[p.Once.Key]; seen && first.ends.After(now) {
			if first.Fingerprint != p.Once.Fingerprint {
				return store.AppendResult{}, store.ErrKeyReused
			}
			again := first.result
			again.Duplicate, again.Note, again.NextDue = true, first.Note, l.nextDue(now)
			return again, nil
		}
	}
	for _, part := range p.Parts {
		have, err := s.partition(p.Log, part.Partition)
		if err != nil {
			return store.AppendResult{}, err
		}
		if b := have.bounds(); part.Expect != nil && *part.Expect != b.Next {
			return store.AppendResult{}, &store.OffsetError{Partition: part.Partition, Offset: *part.Expect, Bounds: b, Err: store.ErrConflict}
		}
	}
	res := store.AppendResult{At: now}
	for _, part := range p.Parts {
		have := &l.parts[part.Partition]
		res.Parts = append(res.Parts, store.Appended{Partition: part.Partition, First: store.Offset(len(have.records)), Count: len(part.Records)})
		for _, r := range part.Records {
			have.records = append(have.records, plainRecord{store.Fetched{
				Offset: store.Offset(len(have.records)), Payload: slices.Clone(r.Payload), Size: r.Size,
				Time: cmp.Or(r.Time, now).Truncate(time.Millisecond),
			}, now})
		}
	}
	res.NextDue = l.nextDue(now)
	if p.Once != nil {
		l.once[p.Once.Key] = plainAppend{*p.Once, res, now.Add(p.Once.Window)}
	}
	return res, nil
}

func (s *plain) Fetch(_ context.Context, p store.FetchParams) (store.FetchResult, error) {
	part, err := s.partition(p.Log, p.Partition)
	if err != nil {
		return store.FetchResult{}, err
	}
	res := store.FetchResult{Bounds: part.bounds()}
	switch {
	case p.Offset < res.Bounds.First:
		return store.FetchResult{}, &store.OffsetError{Partition: p.Partition, Offset: p.Offset, Bounds: res.Bounds, Err: store.ErrTrimmed}
	case p.Offset > res.Bounds.Next:
		return store.FetchResult{}, &store.OffsetError{Partition: p.Partition, Offset: p.Offset, Bounds: res.Bounds, Err: store.ErrOutOfRange}
	}
	bytes := int64(0)
	for _, r := range part.records[p.Offset:] {
		bytes += int64(r.Size)
		if len(res.Records) == p.Max || len(res.Records) > 0 && bytes > p.MaxBytes {
			break
		}
		r.Payload = slices.Clone(r.Payload)
		res.Records = append(res.Records, r.Fetched)
	}
	return res, nil
}

func (s *plain) Seek(_ context.Context, id store.LogID, partition uint32, at time.Time) (store.Offset, error) {
	part, err := s.partition(id, partition)
	if err != nil {
		return 0, err
	}
	for _, r := range part.records[part.first:] {
		if !r.Time.Before(at.Truncate(time.Millisecond)) {
			return r.Offset, nil
		}
	}
	return part.bounds().Next, nil
}

func (s *plain) Bounds(_ context.Context, id store.LogID) ([]store.Bounds, error) {
	l := s.logs[id]
	if l == nil {
		return nil, store.ErrGone
	}
	var list []store.Bounds
	for i := range l.parts {
		list = append(list, l.parts[i].bounds())
	}
	return list, nil
}

func (s *plain) Trim(_ context.Context, id store.LogID, partition uint32, before store.Offset) (store.Bounds, error) {
	part, err := s.partition(id, partition)
	if err != nil {
		return store.Bounds{}, err
	}
	if b := part.bounds(); before > b.Next {
		return store.Bounds{}, &store.OffsetError{Partition: partition, Offset: before, Bounds: b, Err: store.ErrOutOfRange}
	}
	part.first = max(part.first, before)
	return part.bounds(), nil
}

// SweepLog knows only calls of one record each, whose blocks are records.
func (s *plain) SweepLog(_ context.Context, id store.LogID) (store.LogSweepResult, error) {
	l := s.logs[id]
	if l == nil {
		return store.LogSweepResult{}, store.ErrGone
	}
	now := s.clock.Now()
	var res store.LogSweepResult
	for i := range l.parts {
		p := &l.parts[i]
		for ; p.overdue(l.settings, now); p.first++ {
			res.Trimmed++
		}
	}
	res.NextDue = l.nextDue(now)
	return res, nil
}

// nextDue is how long from now until retention takes a record.
func (l *plainLog) nextDue(now time.Time) time.Duration {
	due := store.NoDue
	for _, p := range l.parts {
		if p.overdue(l.settings, now) {
			return 0
		}
		if age := l.settings.RetentionAge; age > 0 && int(p.first) < len(p.records) {
			due = min(due, p.records[p.first].at.Add(age).Sub(now))
		}
	}
	return due
}

// overdue says that retention takes the first record.
func (p *plainPartition) overdue(s store.LogSettings, now time.Time) bool {
	left := p.records[p.first:]
	if len(left) == 0 {
		return false
	}
	tooOld := s.RetentionAge > 0 && !left[0].at.Add(s.RetentionAge).After(now)
	tooMany := s.RetentionBytes > 0 && p.bounds().Bytes > s.RetentionBytes && len(left) > 1
	return tooOld || tooMany
}
