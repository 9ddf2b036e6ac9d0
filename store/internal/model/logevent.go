package model

import (
	"time"

	"github.com/dabba-mq/dabba/store"
)

// The encodings of a log's events and state, since version 2; see encode.go for the conventions. What carries records is in
// logbatch.go.
//
//	log configured  at | created u8 | settings
//	settings        revision u64 | partitions u32 | retention i64 (ns) | retention bytes i64
//	trimmed         at | n u32 | n × { partition u32 | first u64 }
//	log             settings | n u32 | n × partition | n u32 | n × once | [stamp of each mark, since version 3]
//	partition       first u64 | next u64 | gone i64 | total i64 | stride i64 | n u32 | n × mark
//	mark            offset u64 | before i64 | until | latest
//	once            key 16 | fingerprint 16 | at | ends | note text
//	note            n u32 | n × { partition u32 | first u64 | count u32 } | the caller's note

// Encode appends the event.
func (ev LogConfigured) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.flag(ev.Created)
	w.logSettings(ev.Settings)
	return w.b
}

// DecodeLogConfigured reads what Encode wrote.
func DecodeLogConfigured(b []byte) (LogConfigured, error) {
	r := reader{b: b}
	ev := LogConfigured{At: r.millis(), Created: r.flag(), Settings: r.logSettings()}
	if ev.Settings.Partitions > maxPartitions {
		r.failed = true
	}
	return ev, r.done("log configured")
}

// maxPartitions bounds what is allocated for a number that was read.
const maxPartitions = 1 << 16

func (w *writer) logSettings(s store.LogSettings) {
	w.u64(s.Revision)
	w.u32(s.Partitions)
	w.u64(uint64(s.RetentionAge))
	w.u64(uint64(s.RetentionBytes))
}

func (r *reader) logSettings() store.LogSettings {
	return store.LogSettings{
		Revision: r.u64(), Partitions: r.u32(), RetentionAge: time.Duration(r.u64()), RetentionBytes: int64(r.u64()),
	}
}

// Encode appends the event.
func (ev Trimmed) Encode(b []byte) []byte {
	w := writer{b}
	w.millis(ev.At)
	w.count(len(ev.Parts))
	for _, p := range ev.Parts {
		w.u32(p.Partition)
		w.u64(uint64(p.First))
	}
	return w.b
}

// TrimmedLen is the length of the encoding of a trimmed event of n partitions.
func TrimmedLen(n int) int { return 12 + 12*n }

// DecodeTrimmed reads what Encode wrote.
func DecodeTrimmed(b []byte) (Trimmed, error) {
	r := reader{b: b}
	ev := Trimmed{At: r.millis()}
	ev.Parts = make([]TrimmedPart, r.count(12))
	for i := range ev.Parts {
		ev.Parts[i] = TrimmedPart{r.u32(), store.Offset(r.u64())}
	}
	return ev, r.done("trimmed")
}

// joinNote is what an idempotency key remembers: where the records went, and the caller's note.
func joinNote(parts []store.Appended, note []byte) string {
	w := writer{make([]byte, 0, 4+16*len(parts)+len(note))}
	w.count(len(parts))
	for _, p := range parts {
		w.u32(p.Partition)
		w.u64(uint64(p.First))
		w.count(p.Count)
	}
	w.raw(note)
	return string(w.b)
}

func splitNote(s string) ([]store.Appended, []byte) {
	r := reader{b: []byte(s)}
	parts := make([]store.Appended, r.count(16))
	for i := range parts {
		parts[i] = store.Appended{Partition: r.u32(), First: store.Offset(r.u64()), Count: int(r.u32())}
	}
	return parts, r.take(len(r.b))
}

// Snapshot appends the whole state.
func (l *Log) Snapshot(b []byte) []byte {
	w := writer{b}
	w.logSettings(l.settings)
	w.count(len(l.parts))
	for i := range l.parts {
		p := &l.parts[i]
		w.u64(uint64(p.first))
		w.u64(uint64(p.next))
		w.u64(uint64(p.gone))
		w.u64(uint64(p.total))
		w.u64(uint64(p.stride))
		w.count(len(p.marks))
		for _, m := range p.marks {
			w.u64(uint64(m.offset))
			w.u64(uint64(m.before))
			w.millis(m.until)
			w.millis(m.latest)
		}
	}
	w.count(len(l.once.ending))
	for _, key := range l.once.ending {
		e := l.once.seen[key]
		w.raw(key[:])
		w.raw(e.fingerprint[:])
		w.millis(e.at)
		w.millis(e.ends)
		w.text(e.note)
	}
	for i := range l.parts {
		for _, m := range l.parts[i].marks {
			w.millis(m.stamp)
		}
	}
	return w.b
}

// RestoreLog reads what Snapshot wrote and checks that it is a possible state.
func RestoreLog(id store.LogID, b []byte) (*Log, error) {
	r := reader{b: b}
	l := NewLog(id)
	l.settings = r.logSettings()
	l.parts = make([]partition, r.count(44))
	for i := range l.parts {
		l.parts[i].restore(&r)
	}
	for range r.count(52) {
		var key onceKey
		var e onceEntry
		copy(key[:], r.take(16))
		copy(e.fingerprint[:], r.take(16))
		e.at, e.ends, e.note = r.millis(), r.millis(), r.text()
		l.once.restore(key, e)
	}
	l.restoreStamps(&r)
	if uint32(len(l.parts)) != l.settings.Partitions {
		r.failed = true
	}
	return l, r.done("log")
}

// restoreStamps reads the stamps of marks. Version 2 had none: there every block may have such records up to its end.
func (l *Log) restoreStamps(r *reader) {
	unknown := len(r.b) == 0
	for i := range l.parts {
		for j := range l.parts[i].marks {
			m := &l.parts[i].marks[j]
			if m.stamp = m.until; !unknown {
				m.stamp = r.millis()
			}
		}
	}
}

func (p *partition) restore(r *reader) {
	p.first, p.next = store.Offset(r.u64()), store.Offset(r.u64())
	p.gone, p.total, p.stride = int64(r.u64()), int64(r.u64()), int64(r.u64())
	n := r.count(32)
	at, before := p.first, p.gone
	for i := range n {
		m := mark{offset: store.Offset(r.u64()), before: int64(r.u64()), until: r.millis(), latest: r.millis()}
		if i == 0 && (m.offset != at || m.before != before) || i > 0 && (m.offset <= at || m.before < before) {
			r.failed = true
		}
		at, before = m.offset, m.before
		p.marks = append(p.marks, m)
	}
	if n > maxMarks || before > p.total || n > 0 && at >= p.next || n == 0 && (p.first != p.next || p.gone != p.total) {
		r.failed = true
	}
}
