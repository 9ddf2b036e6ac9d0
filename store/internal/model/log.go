package model

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/dabba-mq/dabba/store"
)

// Log is the state of one log: where its partitions begin and end. It knows no record by itself, so that its size does
// not depend on their number. It is not safe for concurrent use: its owner holds a lock around each call.
type Log struct {
	id       store.LogID
	settings store.LogSettings
	parts    []partition
	once     onceTable
	// protected is until when retention by age removes nothing. It is not part of the state.
	protected Millis
}

// partition is the state of one partition. Sizes are counted from its very first record on.
type partition struct {
	first, next store.Offset
	gone, total int64 // sizes of the records before first and before next
	marks       []mark
	// stride is the least weight of the records between two marks.
	stride int64
}

// mark begins a block of records: those from offset up to the next mark. Retention removes whole blocks, and a seek
// looks at one. While a partition has few calls each of them has blocks of its own.
type mark struct {
	offset store.Offset
	before int64  // sizes of all records before it
	until  Millis // when the last record of the block was appended
	latest Millis // the highest own time of a record in it
	stamp  Millis // when the last record without a time of its own was appended, in queue time; later if it is not known
}

const (
	// maxMarks bounds the blocks of a partition to 32 KiB of memory; when they are used up, each two become one.
	maxMarks = 1024
	// blockWeight is the most that one block of a long call weighs: it may be removed, or sought in, by itself.
	blockWeight = 16 << 10
	// recordWeight is what a record weighs beside its size.
	recordWeight = 64
)

// NewLog returns the log that a LogConfigured event creates.
func NewLog(id store.LogID) *Log { return &Log{id: id} }

// ID is the log's generation.
func (l *Log) ID() store.LogID { return l.id }

// Revision is that of the present settings; 0 means that there are none yet.
func (l *Log) Revision() uint64 { return l.settings.Revision }

// Partitions is their number.
func (l *Log) Partitions() int { return len(l.parts) }

// LogConfigured creates a log or replaces its settings.
type LogConfigured struct {
	At Millis
	// Created says that the log did not exist before.
	Created  bool
	Settings store.LogSettings
}

// Configure returns the event that replaces the settings, or false when they are not newer.
func (l *Log) Configure(now Millis, s store.LogSettings) (LogConfigured, bool) {
	if s.Revision <= l.settings.Revision {
		return LogConfigured{}, false
	}
	s.Partitions = max(s.Partitions, uint32(len(l.parts)), 1)
	ev := LogConfigured{At: now, Created: l.settings.Revision == 0, Settings: s}
	l.ApplyConfigured(ev)
	return ev, true
}

// ApplyConfigured repeats a Configure.
func (l *Log) ApplyConfigured(ev LogConfigured) {
	l.settings = ev.Settings
	for len(l.parts) < int(ev.Settings.Partitions) {
		l.parts = append(l.parts, partition{})
	}
}

// Appended appends records to partitions.
type Appended struct {
	At    Millis
	Parts []AppendedPart
	Once  *store.Once
}

// AppendedPart are the records that one partition gets, from offset First on.
type AppendedPart struct {
	Partition uint32
	First     store.Offset
	Records   []LogMeta
}

// LogMeta is what the machine looks at of a record.
type LogMeta struct {
	Size uint32
	// Time is the record's own, or [NoTime].
	Time Millis
}

// NoTime stands for the time of the append.
const NoTime = Millis(math.MinInt64)

// LogMetas are those of records.
func LogMetas(records []store.LogRecord) []LogMeta {
	list := make([]LogMeta, len(records))
	for i := range records {
		list[i] = LogMeta{records[i].Size, recordTime(records[i].Time)}
	}
	return list
}

func recordTime(t time.Time) Millis {
	if t.IsZero() {
		return NoTime
	}
	return MillisOf(t)
}

// MillisOf is the millisecond that an instant is in.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Append appends records. When the call was made before, under the same Once key, it returns false and the first result.
func (l *Log) Append(now Millis, p store.AppendParams) (Appended, store.AppendResult, bool, error) {
	l.once.expire(now)
	if p.Revision != l.settings.Revision {
		return Appended{}, store.AppendResult{}, false, fmt.Errorf("append to log %d at revision %d, have %d: %w",
			l.id, p.Revision, l.settings.Revision, store.ErrStaleConfig)
	}
	if p.Once != nil {
		if first, seen := l.once.find(p.Once.Key, now); seen {
			res, err := l.again(p.Once, first)
			return Appended{}, res, false, err
		}
	}
	for _, part := range p.Parts {
		if err := l.fits(part); err != nil {
			return Appended{}, store.AppendResult{}, false, fmt.Errorf("append to log %d: %w", l.id, err)
		}
	}
	ev := Appended{At: now, Once: p.Once, Parts: make([]AppendedPart, len(p.Parts))}
	for i, part := range p.Parts {
		ev.Parts[i] = AppendedPart{part.Partition, l.parts[part.Partition].next, LogMetas(part.Records)}
	}
	l.ApplyAppended(ev)
	res := store.AppendResult{Parts: ev.result(), At: Time(now), NextDue: store.NoDue}
	for _, part := range ev.Parts {
		res.NextDue = min(res.NextDue, l.parts[part.Partition].nextDue(now, l.protected, l.settings))
	}
	return ev, res, true, nil
}

// again is the result of an append that was made before.
func (l *Log) again(once *store.Once, first onceEntry) (store.AppendResult, error) {
	if first.fingerprint != once.Fingerprint {
		return store.AppendResult{}, fmt.Errorf("append to log %d: %w", l.id, store.ErrKeyReused)
	}
	parts, note := splitNote(first.note)
	return store.AppendResult{Parts: parts, At: Time(first.at), Duplicate: true, Note: note, NextDue: store.NoDue}, nil
}

// Remembers says whether an Append under that key would be answered as a duplicate, or refused as another one.
func (l *Log) Remembers(now Millis, once *store.Once) bool {
	l.once.expire(now)
	_, seen := l.once.find(once.Key, now)
	return seen
}

// fits says why a partition cannot take records, nil if it can.
func (l *Log) fits(p store.AppendPart) error {
	bounds, err := l.Bounds(p.Partition)
	if err == nil && p.Expect != nil && *p.Expect != bounds.Next {
		return &store.OffsetError{Partition: p.Partition, Offset: *p.Expect, Bounds: bounds, Err: store.ErrConflict}
	}
	return err
}

func (ev Appended) result() []store.Appended {
	list := make([]store.Appended, len(ev.Parts))
	for i, p := range ev.Parts {
		list[i] = store.Appended{Partition: p.Partition, First: p.First, Count: len(p.Records)}
	}
	return list
}

// ApplyAppended repeats an Append.
func (l *Log) ApplyAppended(ev Appended) {
	l.once.expire(ev.At)
	for _, p := range ev.Parts {
		part := &l.parts[p.Partition]
		if p.First != part.next {
			panic(fmt.Sprintf("model: log %d gets record %d of partition %d, expected %d", l.id, p.First, p.Partition, part.next))
		}
		part.append(ev.At, p.Records)
	}
	if ev.Once != nil {
		l.once.restore(ev.Once.Key, onceEntry{
			fingerprint: ev.Once.Fingerprint, at: ev.At, ends: after(ev.At, ev.Once.Window),
			note: joinNote(ev.result(), ev.Once.Note),
		})
	}
}

func (p *partition) append(at Millis, records []LogMeta) {
	for i, r := range records {
		weight := p.weight()
		if len(p.marks) == 0 || i == 0 && weight >= p.stride || weight >= max(p.stride, blockWeight) {
			p.mark()
		}
		m := &p.marks[len(p.marks)-1]
		m.until = at
		if r.Time == NoTime {
			m.stamp = at
		}
		m.latest = max(m.latest, r.Time)
		p.next++
		p.total += int64(r.Size)
	}
}

// weight is that of the last block.
func (p *partition) weight() int64 {
	if len(p.marks) == 0 {
		return 0
	}
	return p.weightSince(p.marks[len(p.marks)-1])
}

func (p *partition) weightSince(m mark) int64 {
	return p.total - m.before + recordWeight*int64(p.next-m.offset)
}

// mark begins a block at the end.
func (p *partition) mark() {
	if len(p.marks) == maxMarks {
		p.thin()
	}
	p.marks = append(p.marks, mark{offset: p.next, before: p.total, until: NoTime, latest: NoTime, stamp: NoTime})
}

// thin makes one block of each two, and new ones as large.
func (p *partition) thin() {
	for i := range maxMarks / 2 {
		a, b := p.marks[2*i], p.marks[2*i+1]
		p.marks[i] = mark{
			offset: a.offset, before: a.before, until: b.until, latest: max(a.latest, b.latest), stamp: max(a.stamp, b.stamp),
		}
	}
	p.marks = p.marks[:maxMarks/2]
	p.stride = p.weightSince(p.marks[0]) / (maxMarks / 2)
}

// end is where block i ends, and the sizes of all records before that.
func (p *partition) end(i int) (store.Offset, int64) {
	if i+1 < len(p.marks) {
		return p.marks[i+1].offset, p.marks[i+1].before
	}
	return p.next, p.total
}

func (p *partition) bounds() store.Bounds {
	return store.Bounds{First: p.first, Next: p.next, Bytes: p.total - p.gone}
}

// Bounds are those of a partition.
func (l *Log) Bounds(partition uint32) (store.Bounds, error) {
	if int(partition) >= len(l.parts) {
		return store.Bounds{}, fmt.Errorf("partition %d of %d: %w", partition, len(l.parts), store.ErrStaleConfig)
	}
	return l.parts[partition].bounds(), nil
}

// AllBounds are those of all partitions, in order.
func (l *Log) AllBounds() []store.Bounds {
	list := make([]store.Bounds, len(l.parts))
	for i := range l.parts {
		list[i] = l.parts[i].bounds()
	}
	return list
}

// Within gives the bounds of a partition, or says why it has no such offset to read from.
func (l *Log) Within(partition uint32, o store.Offset) (store.Bounds, error) {
	bounds, err := l.Bounds(partition)
	if err != nil {
		return store.Bounds{}, err
	}
	return bounds, CheckOffset(partition, o, bounds)
}

// CheckOffset says why there is no such offset to read from within bounds.
func CheckOffset(partition uint32, o store.Offset, bounds store.Bounds) error {
	switch {
	case o < bounds.First:
		return &store.OffsetError{Partition: partition, Offset: o, Bounds: bounds, Err: store.ErrTrimmed}
	case o > bounds.Next:
		return &store.OffsetError{Partition: partition, Offset: o, Bounds: bounds, Err: store.ErrOutOfRange}
	}
	return nil
}

// Seek returns the first block of a partition that ends behind from and in which a record may have a time that is not
// before at, by the wall clock, which is ahead; false if there is none. A record that has was perhaps trimmed.
func (l *Log) Seek(partition uint32, at Millis, ahead Ahead, from store.Offset) (begin, end store.Offset, ok bool) {
	p := &l.parts[partition]
	for i, m := range p.marks {
		late := m.latest >= at || m.stamp != NoTime && m.stamp+Millis(ahead) >= at
		if end, _ := p.end(i); late && end > from {
			return max(m.offset, from), end, true
		}
	}
	return 0, 0, false
}

// Trimmed removes records at the front of partitions.
type Trimmed struct {
	At    Millis
	Parts []TrimmedPart
}

// TrimmedPart says with which record a partition begins from now on.
type TrimmedPart struct {
	Partition uint32
	First     store.Offset
}

// Trim removes the records of a partition below an offset. It returns false when there is nothing to remove.
func (l *Log) Trim(now Millis, partition uint32, before store.Offset) (Trimmed, bool, error) {
	bounds, err := l.Bounds(partition)
	switch {
	case err != nil:
		return Trimmed{}, false, err
	case before > bounds.Next:
		return Trimmed{}, false, &store.OffsetError{Partition: partition, Offset: before, Bounds: bounds, Err: store.ErrOutOfRange}
	case before <= bounds.First:
		return Trimmed{}, false, nil
	}
	ev := Trimmed{At: now, Parts: []TrimmedPart{{partition, before}}}
	l.ApplyTrimmed(ev)
	return ev, true, nil
}

// Protect keeps retention by age from removing anything until an instant.
func (l *Log) Protect(until Millis) { l.protected = until }

// Sweep removes what is past retention, and says how much that was. It returns false when there was nothing.
func (l *Log) Sweep(now Millis) (Trimmed, int64, bool) {
	l.once.expire(now)
	ev := Trimmed{At: now}
	removed := int64(0)
	for i := range l.parts {
		p := &l.parts[i]
		if to := p.expired(now, l.protected, l.settings); to > p.first {
			removed += int64(to - p.first)
			ev.Parts = append(ev.Parts, TrimmedPart{uint32(i), to})
		}
	}
	l.ApplyTrimmed(ev)
	return ev, removed, len(ev.Parts) > 0
}

// expired is where the partition begins once retention has removed what it may.
func (p *partition) expired(now, protected Millis, s store.LogSettings) store.Offset {
	to, gone := p.first, p.gone
	for i, m := range p.marks {
		tooOld := s.RetentionAge > 0 && max(after(m.until, s.RetentionAge), protected) <= now
		tooMany := s.RetentionBytes > 0 && p.total-gone > s.RetentionBytes && i < len(p.marks)-1
		if !tooOld && !tooMany {
			break
		}
		to, gone = p.end(i)
	}
	return to
}

// NextDue is how long from now until retention has something to remove.
func (l *Log) NextDue(now Millis) time.Duration {
	due := store.NoDue
	for i := range l.parts {
		due = min(due, l.parts[i].nextDue(now, l.protected, l.settings))
	}
	return due
}

func (p *partition) nextDue(now, protected Millis, s store.LogSettings) time.Duration {
	switch {
	case len(p.marks) == 0:
		return store.NoDue
	case s.RetentionBytes > 0 && p.total-p.gone > s.RetentionBytes && len(p.marks) > 1:
		return 0
	case s.RetentionAge > 0:
		return time.Duration(max(after(p.marks[0].until, s.RetentionAge)-now, protected-now, 0)) * time.Millisecond
	}
	return store.NoDue
}

// ApplyTrimmed repeats a Trim or Sweep.
func (l *Log) ApplyTrimmed(ev Trimmed) {
	l.once.expire(ev.At)
	for _, t := range ev.Parts {
		p := &l.parts[t.Partition]
		if t.First < p.first || t.First > p.next {
			panic(fmt.Sprintf("model: log %d trims partition %d, which has %d to %d, to %d", l.id, t.Partition, p.first, p.next, t.First))
		}
		p.trim(t.First)
	}
}

// trim makes to the first record. Within a block the sizes of what leaves are estimated.
func (p *partition) trim(to store.Offset) {
	p.first = to
	for i, m := range p.marks {
		end, endBefore := p.end(i)
		if end <= to {
			continue
		}
		p.gone = m.before + share(endBefore-m.before, uint64(to-m.offset), uint64(end-m.offset))
		p.marks = slices.Delete(p.marks, 0, i)
		p.marks[0].offset, p.marks[0].before = to, p.gone
		p.stride = min(p.stride, p.weightSince(p.marks[0])/(maxMarks/2))
		return
	}
	p.gone, p.marks, p.stride = p.total, nil, 0
}

// share is part of whole, of sum.
func share(sum int64, part, whole uint64) int64 {
	hi, lo := bits.Mul64(uint64(sum), part)
	q, _ := bits.Div64(hi, lo, whole)
	return int64(q)
}
